#!/usr/bin/env python3
"""Makes, in FOLDER, what users of a NATS server log in with. nsc, which does this elsewhere, is in no Debian.

  nkeys.conf      a server's user with an NKey; relay.nk is its seed, relay.pub its public part
  stranger.nk     the seed of nobody, stranger.pub its public part
  operator.conf   a server that trusts an operator, whose account JWT it holds
  relay.creds     a user of that account; expired.creds: until yesterday; stranger.creds: of another account

Ed25519 is openssl's.
"""
import base64
import json
import pathlib
import subprocess
import sys
import time

OPERATOR, ACCOUNT, USER, SEED = 14 << 3, 0, 20 << 3, 18 << 3
UNLIMITED = {name: -1 for name in ("subs", "data", "payload")}


def encode(raw):
    crc = 0
    for byte in raw:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
    return base64.b32encode(raw + crc.to_bytes(2, "little")).decode().rstrip("=")


def base64url(raw):
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


class Key:
    def __init__(self, folder, name, kind):
        self.pem = folder / f"{name}.pem"
        openssl("genpkey", "-algorithm", "ed25519", "-out", self.pem)
        raw = openssl("pkey", "-in", self.pem, "-outform", "DER")[-32:]
        public = openssl("pkey", "-in", self.pem, "-pubout", "-outform", "DER")[-32:]
        self.seed = encode(bytes([SEED | kind >> 5, (kind & 31) << 3]) + raw)
        self.public = encode(bytes([kind]) + public)

    def jwt(self, subject, name, nats, **more):
        """Claims about the subject, signed by this key."""
        claims = {"jti": name, "iat": int(time.time()), "iss": self.public, "sub": subject.public,
                  "name": name, "nats": {**nats, "version": 2}, **more}
        text = ".".join(base64url(json.dumps(part).encode())
                        for part in ({"typ": "JWT", "alg": "ed25519-nkey"}, claims))
        unsigned = self.pem.with_suffix(".unsigned")
        unsigned.write_text(text)
        signature = openssl("pkeyutl", "-sign", "-rawin", "-inkey", self.pem, "-in", unsigned)
        return text + "." + base64url(signature)


def openssl(*arguments):
    return subprocess.run(["openssl", *arguments], check=True, stdout=subprocess.PIPE).stdout


def make_account(folder, operator, name, jetstream):
    account = Key(folder, name, ACCOUNT)
    limits = {**UNLIMITED, "imports": -1, "exports": -1, "conn": -1, "leaf": -1, "wildcards": True}
    if jetstream:
        limits.update(mem_storage=-1, disk_storage=-1, streams=-1, consumer=-1)
    return account, operator.jwt(account, name, {"type": "account", "limits": limits})


def write_credentials(folder, name, account, **more):
    user = Key(folder, name, USER)
    jwt = account.jwt(user, name, {"type": "user", "pub": {}, "sub": {}, **UNLIMITED}, **more)
    (folder / f"{name}.creds").write_text(
        f"-----BEGIN NATS USER JWT-----\n{jwt}\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{user.seed}\n------END USER NKEY SEED------\n")


def main():
    folder = pathlib.Path(sys.argv[1])
    for name in ("relay", "stranger"):
        user = Key(folder, name, USER)
        (folder / f"{name}.nk").write_text(user.seed + "\n")
        (folder / f"{name}.pub").write_text(user.public)
    known = (folder / "relay.pub").read_text()
    (folder / "nkeys.conf").write_text(f"authorization {{ users: [{{nkey: {known}}}] }}\n")

    operator = Key(folder, "operator", OPERATOR)
    system, system_jwt = make_account(folder, operator, "SYS", jetstream=False)
    account, account_jwt = make_account(folder, operator, "APP", jetstream=True)
    (folder / "operator.conf").write_text(
        f"operator: {operator.jwt(operator, 'operator', {'type': 'operator'})}\n"
        f"system_account: {system.public}\nresolver: MEMORY\nresolver_preload: {{\n"
        f"  {system.public}: {system_jwt}\n  {account.public}: {account_jwt}\n}}\n")
    write_credentials(folder, "relay", account)
    write_credentials(folder, "expired", account, exp=int(time.time()) - 86400)
    write_credentials(folder, "stranger", Key(folder, "other", ACCOUNT))


main()
