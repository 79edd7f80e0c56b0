"""Certificates that the tests make: an authority, a server at 127.0.0.1, and a client."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from pathlib import Path

LIFETIME = timedelta(days=2)


def make_certificates(folder: Path) -> Path:
    """Write ``ca``, ``server``, ``client`` and ``other`` (for another address), each with ``NAME.key``."""
    authority = generate_private_key(SECP256R1())
    sign(folder, "ca", authority, None, authority)
    for name, address in (("server", "127.0.0.1"), ("client", None), ("other", "127.0.0.2")):
        sign(folder, name, generate_private_key(SECP256R1()), address, authority)
    return folder


def sign(
    folder: Path, name: str, key: EllipticCurvePrivateKey, address: str | None, authority: EllipticCurvePrivateKey
) -> None:
    subject, issuer = (x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, each)]) for each in (name, "ca"))
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder(issuer, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - LIFETIME)
        .not_valid_after(now + LIFETIME)
        .add_extension(x509.BasicConstraints(ca=name == "ca", path_length=None), critical=True)
    )
    if address:
        names = x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))])
        builder = builder.add_extension(names, critical=False)
    certificate = builder.sign(authority, hashes.SHA256())
    (folder / name).write_bytes(certificate.public_bytes(Encoding.PEM))
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / f"{name}.key").write_bytes(private)
