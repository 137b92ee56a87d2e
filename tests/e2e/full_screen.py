"""full_screen.py KIND: a program that fills the screen and reads keys; ends with q.

raw: on the alternate screen, once, with the mouse and more switched on; it doesn't know of SIGWINCH.
main: likewise without the alternate screen.
much: as raw, but has written more than anybody keeps, and draws all anew when the size is another (as curses does).
curses: the library itself, likewise with much output; its screen is drawn by differences.
brief: likewise with little output.
typed: a line as it is typed at the lower end, and what it got in the file `typed`.
"""
import curses
import os
import signal
import sys
import termios
import tty

ON = "\x1b[?1h\x1b=\x1b[?1002h\x1b[?1006h\x1b[?2004h\x1b[?25l"
OFF = "\x1b[?1l\x1b>\x1b[?1006l\x1b[?1002l\x1b[?2004l\x1b[?25h"
MUCH = 300 * 1000


def write(text):
    os.write(1, text.encode())


def picture(rows, columns):
    lines = ["\x1b[H\x1b[2J\x1b[1;44m top of %d x %d \x1b[0m" % (rows, columns)]
    lines += ["\x1b[%d;%dH\x1b[3%dmline %d äö 漢字\x1b[0m" % (row, row, row % 8, row) for row in range(3, rows, 2)]
    write("".join(lines) + "\x1b[%d;1H\x1b[7mstatus\x1b[0m\x1b[5;20H" % rows)


def keys():
    before = termios.tcgetattr(0)
    tty.setraw(0)
    with open("typed", "wb", buffering=0) as typed:
        while True:
            try:
                key = os.read(0, 1)
            except InterruptedError:
                continue
            if key in (b"q", b""):
                break
            typed.write(key)
    termios.tcsetattr(0, termios.TCSADRAIN, before)


def plain(alternate, much):
    known = os.get_terminal_size()
    write(("\x1b[?1049h" if alternate else "") + ON)
    picture(known.lines, known.columns)
    for count in range(MUCH // 20 if much else 0):
        write("\x1b[2;%dH\x1b[3%dmx" % (count % 40 + 1, count % 8))
    write("\x1b[0m\x1b[5;20H")

    def resized(*_):
        nonlocal known
        size = os.get_terminal_size()
        if size != known:
            known = size
            picture(*reversed(size))
            write("\x1b[2;1H" + "".join("\x1b[3%dmx" % (i % 8) for i in range(40)) + "\x1b[0m\x1b[5;20H")

    if much:
        resized_before, known = known, (0, 0)
        resized()
        known = resized_before
        signal.signal(signal.SIGWINCH, resized)
    keys()
    write(OFF + ("\x1b[?1049l" if alternate else "\x1b[H\x1b[2J"))


def with_curses(window):
    curses.curs_set(0)
    curses.start_color()
    curses.init_pair(1, curses.COLOR_RED, curses.COLOR_BLUE)
    count = 0

    def draw():
        rows, columns = window.getmaxyx()
        window.erase()
        window.addstr(0, 0, "top of %d x %d" % (rows, columns), curses.A_REVERSE)
        for row in range(2, rows - 2):
            window.addstr(row, 2 * (row % 5), "process %d %s" % (row, "x" * ((row * count) % 40)), curses.color_pair(row % 2))
        window.refresh()

    for count in range(3000 if sys.argv[1] == "curses" else 0, -1, -1):
        draw()
    while (key := window.getch()) != ord("q"):
        if key == curses.KEY_RESIZE:
            draw()


if sys.argv[1] in ("curses", "brief"):
    curses.wrapper(with_curses)
else:
    plain(sys.argv[1] != "main", sys.argv[1] == "much")
