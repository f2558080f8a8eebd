"""A peer: a process that answers each line of a request with a line of JSON, or is given up."""
import json
import select
import subprocess
import tempfile
import time


class PeerError(Exception):
    pass


class Peer:
    def __init__(self, argv):
        self.errors = tempfile.TemporaryFile()
        self.rest = b""
        try:
            self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                                            bufsize=0)
        except OSError as error:
            self.errors.close()
            raise PeerError(str(error)) from error

    def answer(self, seconds):
        end = time.monotonic() + seconds
        while b"\n" not in self.rest:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise PeerError(f"given up after {seconds:.0f} s")
            got = self.process.stdout.read(1 << 16)
            if not got:
                self.process.wait()
                self.errors.seek(0)
                said = [line for line in self.errors.read().decode(errors="replace").splitlines() if line.strip()]
                raise PeerError("ended: " + (said[0] if said else f"exit status {self.process.returncode}")[:200])
            self.rest += got
        line, self.rest = self.rest.split(b"\n", 1)
        return json.loads(line)

    def ask(self, request, seconds):
        try:
            self.process.stdin.write(request.encode() + b"\n")
        except BrokenPipeError:
            pass  # the answer says that it ended
        return self.answer(seconds)

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.errors.close()
