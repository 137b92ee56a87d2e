"""buttons.py X Y <PICTURE: where the buttons of a notification are, by its picture (PGM): the lowest line of text, and in it what
stands apart. X and Y are the picture's place on the screen. Prints the middle of each, from left to right."""
import sys

GAP = 12  # columns without ink between two buttons; between two words there are less
LEAST = 6  # rows that a line of text has

data = sys.stdin.buffer.read()
magic, size, most, pixels = data.split(b"\n", 3)
assert magic == b"P5" and most == b"255"
width, height = map(int, size.split())
rows = [pixels[y * width : (y + 1) * width] for y in range(height)]
ground = sorted(pixels)[len(pixels) // 2]


def is_ink(value):
    return value < ground - 90  # text is dark, a button's edge is not


lines, line = [], []
for y, row in enumerate(rows):
    ink = [x for x in range(12, width - 12) if is_ink(row[x])]  # the window's edge is no text
    if ink and len(ink) < width // 2:
        line.append((y, ink))
    elif line:
        lines.append(line)
        line = []
lines = [line for line in lines if len(line) >= LEAST]
if not lines:
    sys.exit()
last = lines[-1]
columns = sorted({x for _, ink in last for x in ink})
middle = (last[0][0] + last[-1][0]) // 2
begin = previous = columns[0]
for x in columns[1:] + [columns[-1] + 2 * GAP]:
    if x - previous >= GAP:
        print(int(sys.argv[1]) + (begin + previous) // 2, int(sys.argv[2]) + middle)
        begin = x
    previous = x
