#!/usr/bin/env python3
"""What drawing costs: the processor time of the thread that draws, in each form of the monitor, while a reply is written
at 20 tokens a second and read by the other unit, and at rest. Runs the program on a pseudo-terminal of its own.

    src/bench/monitor_cost.py [build/tandem]

A line for each form and size: percent of a core over 8 s (/proc/PID/task/PID/schedstat). The share of the
monitor is a form's figure less that of `off` at the same size.
"""
import fcntl
import os
import pty
import signal
import struct
import sys
import tempfile
import termios
import threading
import time

SECONDS = 8
FORMS = [("off", 24, 80), ("line", 24, 80), ("strip", 24, 80), ("full", 24, 80), ("off", 40, 120), ("panel", 40, 120),
         ("off", 60, 200), ("full", 60, 200)]


def drain(fd):
    try:
        while os.read(fd, 1 << 16):
            pass
    except OSError:
        pass


def drawing_ns(pid):
    with open(f"/proc/{pid}/task/{pid}/schedstat") as f:
        return int(f.read().split()[0])


def measure(program, form, rows, cols, talks):
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "TERM": "xterm-256color", "HOME": home}
        for kind in ("STATE", "CONFIG", "CACHE", "DATA"):
            environment[f"XDG_{kind}_HOME"] = os.path.join(home, kind)
        pid, fd = pty.fork()
        if pid == 0:
            os.execve(program, ["tandem", "chat", "-m", "builtin", "--private", "--ignore-eos", "-c", "16384", "--pace",
                                "20", "--measure-idle", "off"], environment)
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
        threading.Thread(target=drain, args=(fd,), daemon=True).start()
        time.sleep(2.5)
        os.write(fd, f"/monitor {form}\r".encode())
        time.sleep(0.6)
        if talks:
            os.write(fd, b"Tell me a long story.\r")
        time.sleep(1.5 if talks else 12)  # a little after a key the screen is still lively
        ns, start = drawing_ns(pid), time.monotonic()
        time.sleep(SECONDS)
        share = (drawing_ns(pid) - ns) / 1e9 / (time.monotonic() - start)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(fd)
    when = "a reply" if talks else "at rest"
    print(f"{form:6} {rows:3} x {cols:3}  {when}  {100 * share:5.2f} % of a core", flush=True)


def main():
    program = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build/tandem")
    if not os.access(program, os.X_OK):
        sys.exit(f"{program}: expected the program (make)")
    for form, rows, cols in FORMS:
        measure(program, form, rows, cols, True)
    measure(program, "full", 60, 200, False)


main()
