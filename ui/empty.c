typedef int ui_empty;
