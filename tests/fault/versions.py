"""versions.py: an sbxd and an sbx of different versions agree, or say which side to start anew. The other side is a scripted one."""

import json
import socket
import threading

from home import Client, Denied, Gone, Home, claim, finish


class OtherBroker:
    """Listens in sbxd's place and answers the first message of each connection with `hello`, and a listing with nothing."""

    def __init__(self, home, hello):
        home.socket.parent.mkdir(mode=0o700, exist_ok=True)
        home.socket.unlink(missing_ok=True)
        self.hello = hello
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(str(home.socket))
        self.listener.listen()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            while data := peer.recv(1 << 16):
                said = json.loads(data)
                answer = self.hello if said["type"] == "hello" else {"type": said["type"], "items": [], "next": None}
                peer.send(json.dumps({**answer, "id": said["id"]}).encode())
                if answer["type"] == "error":
                    break
            peer.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def greeting(protocol, version):
    return {"type": "hello", "protocol": protocol, "version": version, "pid": 4711}


def main():
    lost = []
    with Home() as home:
        # A newer broker that refuses us in its words, and one that would talk to anybody.
        refusal = {"type": "error", "code": "EPROTONOSUPPORT", "message": "sbxd 9 speaks protocol 8, you speak 7: start this again"}
        for hello, expected in ((refusal, "start this again"), (greeting(8, "9.0"), "start this program again, it is the older one"),
                                (greeting(4, "0.0.1"), "end sbxd (kill that process)")):
            with OtherBroker(home, hello):
                result = home.sbx("grants")
                lost.append(result.returncode != 1 or expected not in result.stderr or result.stderr.count("\n") != 1)
                run = home.sbx("run", "--", "true")
                lost.append(run.returncode != 125 or expected not in run.stderr)
            print(result.returncode, result.stderr, run.returncode, run.stderr, end="")
        good = claim("versions: sbx and an sbxd of another protocol say which side to start anew", 6, sum(lost))

        lost = []
        with OtherBroker(home, greeting(7, "0.0.1")):
            result = home.sbx("grants", "--json")
            lost += [result.returncode != 0, json.loads(result.stdout) != [], "kill 4711" not in result.stderr]
            print(result.stderr, end="")
        with OtherBroker(home, greeting(7, "99.0")):
            result = home.sbx("grants", "--json")
            lost += [result.returncode != 0, result.stderr != ""]
        good &= claim("versions: an older sbxd of the same protocol serves on, and sbx says how to end it", 5, sum(lost))

        home.socket.unlink()
        lost = []
        home.connect().close()
        for protocol, expected in ((8, "end sbxd (kill that process)"), (4, "it is the older one"), (1 << 40, "end sbxd (kill that process)")):
            try:
                Client(home.socket, protocol=protocol)
                lost.append(True)
            except Denied as error:
                lost.append(expected not in str(error))
        # And it has closed: nothing comes after a hello that failed.
        client = Client(home.socket, hello=False)
        try:
            client.call("hello", protocol=8, version="next")
        except Denied:
            pass
        try:
            client.call("status")
            lost.append(True)
        except Gone:
            lost.append(False)
        lost.append(home.connect().call("status")["type"] != "status")
        good &= claim("versions: sbxd and a client of another protocol: told which side to start anew, then closed", 5, sum(lost))
    finish(good)


main()
