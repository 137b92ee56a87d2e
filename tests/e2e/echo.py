"""echo.py --port-file FILE [--address ADDRESS]: sends back what it gets, to as many clients at once as there are descriptors.
echo.py connect HOST PORT COUNT: the other side: so many connections at once, each sends its number and gets it back; all are
open before the first is closed. Prints how many did.
"""
import asyncio
import os
import resource
import sys

resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)


async def echo(reader, writer):
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()


async def serve(port_file, address="127.0.0.1"):
    server = await asyncio.start_server(echo, address, 0, backlog=4096)
    with open(port_file + ".new", "w") as file:
        print(server.sockets[0].getsockname()[1], file=file)
    os.rename(port_file + ".new", port_file)
    await server.serve_forever()


async def one(host, port, number, all_open):
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(b"%d\n" % number)
    line = await reader.readline()
    all_open.count += 1
    if all_open.count == all_open.wanted:
        all_open.set()
    await all_open.wait()
    writer.close()
    return line == b"%d\n" % number


async def connect(host, port, count):
    all_open = asyncio.Event()
    all_open.count, all_open.wanted = 0, count
    results = await asyncio.gather(*(one(host, port, number, all_open) for number in range(count)))
    print(sum(results))


if sys.argv[1] == "connect":
    asyncio.run(connect(sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
else:
    asyncio.run(serve(sys.argv[2], *sys.argv[4:]))
