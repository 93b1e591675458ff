"""A Sigstore of one's own on this machine: a certificate authority and two logs, with new keys.

It does what the public one does for a client: Fulcio gives a certificate for an identity and notes
it in a log of certificates (RFC 6962), Rekor notes the signature. Nothing is looked up or proved
about the identity: whoever sends a token gets a certificate for what it says.
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
import threading
import time
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import rfc8785
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_SCT_LIST = x509.ObjectIdentifier("1.3.6.1.4.1.11129.2.4.2")
_ISSUER = x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.1")
_HASH = ec.ECDSA(hashes.SHA256())
_LONG_AGO = "2020-01-01T00:00:00Z"


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _part(value: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def token(identity: str, issuer: str) -> str:
    """Return a token of OpenID Connect with a signature that nobody looks at."""
    now = int(time.time())
    claims = {"iss": issuer, "aud": "sigstore", "sub": identity, "iat": now, "exp": now + 600}
    return f"{_part({'alg': 'ES256', 'typ': 'JWT'})}.{_part(claims)}.{_part({})}"


class Log:
    """A key that signs what a log promises."""

    def __init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.public = self.key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        self.id = hashlib.sha256(self.public).digest()

    def sign(self, data: bytes) -> bytes:
        return self.key.sign(data, _HASH)

    def described(self, url: str) -> dict[str, Any]:
        """Return what stands in a root of trust."""
        return {
            "baseUrl": url,
            "hashAlgorithm": "SHA2_256",
            "publicKey": {
                "rawBytes": _encoded(self.public),
                "keyDetails": "PKIX_ECDSA_P256_SHA_256",
                "validFor": {"start": _LONG_AGO},
            },
            "logId": {"keyId": _encoded(self.id)},
        }


class Sigstore:
    """Three services behind one address, from ``with`` to its end."""

    def __init__(self) -> None:
        self.certificates, self.signatures = Log(), Log()
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a root of one's own")])
        self._root = self._made_root()
        services = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                is_rekor = self.path == "/api/v1/log/entries"
                answer = (
                    services.rekor(body)
                    if is_rekor
                    else services.fulcio(
                        body, self.headers["Authorization"].removeprefix("Bearer ")
                    )
                )
                data = json.dumps(answer).encode()
                self.send_response(201)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Sigstore:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def configuration(self) -> dict[str, Any]:
        """Return the client trust configuration, which names the services and their keys."""
        service = {
            "url": self.url,
            "majorApiVersion": 1,
            "validFor": {"start": _LONG_AGO},
            "operator": "here",
        }
        return {
            "mediaType": "application/vnd.dev.sigstore.clienttrustconfig.v0.1+json",
            "trustedRoot": {
                "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
                "tlogs": [self.signatures.described(self.url)],
                "ctlogs": [self.certificates.described(self.url)],
                "certificateAuthorities": [
                    {
                        "subject": {"organization": "here", "commonName": "here"},
                        "uri": self.url,
                        "certChain": {"certificates": [{"rawBytes": _encoded(_der(self._root))}]},
                        "validFor": {"start": _LONG_AGO},
                    }
                ],
            },
            "signingConfig": {
                "mediaType": "application/vnd.dev.sigstore.signingconfig.v0.2+json",
                "caUrls": [service],
                "oidcUrls": [],
                "rekorTlogUrls": [service],
                "rekorTlogConfig": {"selector": "ANY"},
                "tsaUrls": [],
                "tsaConfig": {"selector": "ANY"},
            },
        }

    def fulcio(self, body: dict[str, Any], identity: str) -> dict[str, Any]:
        """Answer a request for a certificate."""
        claims = json.loads(base64.urlsafe_b64decode(identity.split(".")[1] + "=="))
        request = x509.load_pem_x509_csr(base64.b64decode(body["certificateSigningRequest"]))
        builder = self._builder(request.public_key(), claims)
        noted = self._noted(builder.sign(self._key, hashes.SHA256()).tbs_certificate_bytes)
        promised = x509.UnrecognizedExtension(_SCT_LIST, b"\x04" + bytes([len(noted)]) + noted)
        leaf = builder.add_extension(promised, critical=False).sign(self._key, hashes.SHA256())
        chain = [c.public_bytes(serialization.Encoding.PEM).decode() for c in (leaf, self._root)]
        return {"signedCertificateEmbeddedSct": {"chain": {"certificates": chain}}}

    def rekor(self, entry: dict[str, Any]) -> dict[str, Any]:
        """Answer a request to note a signature, as if the log had no other one."""
        body = rfc8785.dumps(entry)
        root = hashlib.sha256(b"\0" + body).digest()
        noted = {
            "body": _encoded(body),
            "integratedTime": int(time.time()),
            "logID": self.signatures.id.hex(),
            "logIndex": 0,
        }
        note = f"here\n1\n{_encoded(root)}\n"
        mark = self.signatures.id[:4] + self.signatures.sign(note.encode())
        proof = {
            "logIndex": 0,
            "treeSize": 1,
            "rootHash": root.hex(),
            "hashes": [],
            "checkpoint": f"{note}\n\N{EM DASH} here {_encoded(mark)}\n",
        }
        promise = _encoded(self.signatures.sign(rfc8785.dumps(noted)))
        shown = {"signedEntryTimestamp": promise, "inclusionProof": proof}
        return {"0": noted | {"verification": shown}}

    def _made_root(self) -> x509.Certificate:
        public = self._key.public_key()
        return (
            self._dated(x509.CertificateBuilder(), timedelta(days=1))
            .subject_name(self._name)
            .public_key(public)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .sign(self._key, hashes.SHA256())
        )

    def _builder(self, public: Any, claims: dict[str, Any]) -> x509.CertificateBuilder:
        named = x509.SubjectAlternativeName([x509.UniformResourceIdentifier(claims["sub"])])
        own = self._key.public_key()
        return (
            self._dated(x509.CertificateBuilder(), timedelta(minutes=10))
            .subject_name(x509.Name([]))
            .public_key(public)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(
                x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING]), critical=False
            )
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(own), critical=False)
            .add_extension(named, critical=True)
            .add_extension(
                x509.UnrecognizedExtension(_ISSUER, claims["iss"].encode()), critical=False
            )
        )

    def _dated(self, builder: x509.CertificateBuilder, valid: timedelta) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        builder = builder.issuer_name(self._name).serial_number(x509.random_serial_number())
        return builder.not_valid_before(now - timedelta(minutes=1)).not_valid_after(now + valid)

    def _noted(self, certificate: bytes) -> bytes:
        """Return the list of one signed timestamp of a certificate to come (RFC 6962, 3.2)."""
        key = self._key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        now = struct.pack("!Q", int(time.time() * 1000))
        entry = hashlib.sha256(key).digest() + len(certificate).to_bytes(3, "big") + certificate
        signature = self.certificates.sign(b"\0\0" + now + b"\0\1" + entry + b"\0\0")
        sized = struct.pack("!H", len(signature)) + signature
        one = b"\0" + self.certificates.id + now + b"\0\0" + b"\4\3" + sized
        return struct.pack("!HH", len(one) + 2, len(one)) + one


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _der(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.DER)
