"""Sigstore: certificates signed by a job of continuous integration, with no key to keep.

The job's identity (OpenID Connect) gets a key that lives for one signature, and a public log has
the entry. The bundle lies beside the certificate, in the form that ``cosign verify-blob`` and
``python -m sigstore verify`` read, too. Both ways need the package ``sigstore`` and, but for
``offline``, the network.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .plain_json import read_bounded
from .signing import SigningError

if TYPE_CHECKING:
    from sigstore.models import ClientTrustConfig

#: What a bundle, or the description of a Sigstore instance, may have in bytes.
_MOST_BYTES = 1 << 20
_NO_IDENTITY = (
    "no identity of a CI job was found, with which Sigstore could sign: give the job one (on "
    "GitHub `permissions: id-token: write`, on GitLab the `id_tokens` SIGSTORE_ID_TOKEN), or sign "
    "with a key (--sign KEYFILE)"
)


def bundle_of(certificate: Path) -> Path:
    """Return where a certificate's bundle is."""
    return certificate.with_name(f"{certificate.name}.sigstore.json")


def need_extra() -> None:
    """Raise `SigningError` with what to install where the library is missing."""
    from importlib.util import find_spec

    if find_spec("sigstore") is None:
        raise SigningError("this needs sigstore; pip install 'phalanx[sigstore]'")


def token() -> str:
    """Return the identity of this CI job, which is valid for minutes.

    Raises:
        SigningError: there is none, or the library is missing.
    """
    need_extra()
    from id import AmbientCredentialError, detect_credential

    try:
        found = detect_credential("sigstore")
    except AmbientCredentialError as error:
        raise SigningError(f"the identity of this CI job cannot be had: {error}") from error
    if found is None:
        raise SigningError(_NO_IDENTITY)
    return found


def sign(certificate: Path, instance: Path | None = None) -> Path:
    """Sign a certificate as this CI job and return where the bundle is; blocks on the network.

    Args:
        certificate: a file that is there.
        instance: a file with the client trust configuration of a Sigstore of one's own; the public
            one, if it is not given.

    Raises:
        SigningError: there is no identity, or an instance does not do its part.
        OSError: a file cannot be read or written.
    """
    identity = token()
    from sigstore.oidc import IdentityToken
    from sigstore.sign import SigningContext

    data = certificate.read_bytes()
    configuration = _configuration(instance, offline=False)
    try:
        context = SigningContext.from_trust_config(configuration)
        with context.signer(IdentityToken(identity)) as signer:
            text = signer.sign_artifact(data).to_json()
    except Exception as error:  # of the network, of three services, and of five packages
        raise SigningError(f"Sigstore did not sign {certificate}: {_words(error)}") from error
    bundle = bundle_of(certificate)
    bundle.write_text(text + "\n", "utf-8")
    return bundle


def check(
    certificate: bytes,
    bundle: Path,
    identity: str,
    issuer: str,
    instance: Path | None = None,
    *,
    offline: bool = False,
) -> None:
    """Check that an identity signed a certificate; blocks on the network, unless ``offline``.

    Args:
        certificate: the file's bytes.
        bundle: the file that `sign` wrote.
        identity: such as the address of a workflow's file with its branch.
        issuer: the address of who vouches for the identity.
        instance: as for `sign`.
        offline: take the roots of trust that were fetched before, or came with the library.

    Raises:
        SigningError: it is not so, with the reason, or it cannot be checked.
    """
    need_extra()
    from sigstore.models import Bundle
    from sigstore.verify import Verifier
    from sigstore.verify.policy import Identity

    text = _read(bundle, "its bundle is missing: phalanx conformance --sigstore makes one")
    configuration = _configuration(instance, offline=offline)
    policy = Identity(identity=identity, issuer=issuer)
    try:
        verifier = Verifier(trusted_root=configuration.trusted_root)
        verifier.verify_artifact(certificate, Bundle.from_json(text), policy)
    except Exception as error:  # whatever the parts of an unknown file lead to
        raise SigningError(f"{bundle} does not vouch for it: {_words(error)}") from error


def _configuration(instance: Path | None, *, offline: bool) -> ClientTrustConfig:
    from sigstore.models import ClientTrustConfig

    if instance is not None:
        text = _read(instance, "it describes a Sigstore instance of one's own")
        try:
            return ClientTrustConfig.from_json(text.decode())
        except ValueError as error:
            raise SigningError(f"{instance} is no client trust configuration: {error}") from error
    try:
        return ClientTrustConfig.production(offline=offline)
    except Exception as error:  # of the network or of the cache
        hint = "" if offline else "; --offline takes those that were fetched before"
        raise SigningError(
            f"Sigstore's roots of trust cannot be had: {_words(error)}{hint}"
        ) from error


def _read(path: Path, hint: str) -> bytes:
    try:
        return read_bounded(path, _MOST_BYTES)
    except FileNotFoundError as error:
        raise SigningError(f"{path} is not there; {hint}") from error
    except OSError as error:
        raise SigningError(f"{path} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise SigningError(f"{path} is not read: {error}") from error


def _words(error: BaseException) -> str:
    """Return what an error says; of one without words its kind, and of what led to it."""
    said = str(error).strip() or type(error).__name__
    cause = error.__cause__
    return said if cause is None or str(error).strip() else f"{said} ({_words(cause)})"
