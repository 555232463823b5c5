typedef int src_empty;
