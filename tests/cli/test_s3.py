# SPDX-License-Identifier: BSD-3-Clause
"""Objects of moto's S3, which checks the signature of each request."""
import json

import pytest

import images
from harness import error_line
from moto_server import KEYS, moto, post, why_not
from test_http import CLEAN, WARNING

BUCKET = "images"
# Names that a signature has in other letters than the path of the request.
NAMES = ["disk.img", "a b+c=d?e&f#g%h@i", "a/b//c.img", "\u00e4~-_.!*'()"]
POLICY = json.dumps({"Version": "2012-10-17", "Statement": [
    {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]})


@pytest.fixture(scope="module", name="content")
def content_fixture():
    """An image that needs several requests."""
    return images.noise(5 << 20)


@pytest.fixture(scope="module", name="account")
def account_fixture(hone, content):
    """The variables of a user who may read the bucket."""
    if b"libcurl" not in hone.version:
        pytest.skip("this hone was built without libcurl")
    if why_not():
        pytest.skip(why_not())
    boto3 = pytest.importorskip("boto3")
    names = {"aws_access_key_id": KEYS["AWS_ACCESS_KEY_ID"],
             "aws_secret_access_key": KEYS["AWS_SECRET_ACCESS_KEY"],
             "region_name": KEYS["AWS_DEFAULT_REGION"]}
    with moto() as address:
        s3 = boto3.client("s3", endpoint_url=address, **names)
        s3.create_bucket(Bucket=BUCKET)
        for name in NAMES:
            s3.put_object(Bucket=BUCKET, Key=name, Body=content)
        iam = boto3.client("iam", endpoint_url=address, **names)
        iam.create_user(UserName="reader")
        iam.put_user_policy(UserName="reader", PolicyName="read", PolicyDocument=POLICY)
        key = iam.create_access_key(UserName="reader")["AccessKey"]
        # From now on, moto checks each signature.
        post(f"{address}/moto-api/reset-auth", b"0")
        yield {**CLEAN, "AWS_ENDPOINT_URL": address,
               "AWS_ACCESS_KEY_ID": key["AccessKeyId"],
               "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"]}


@pytest.mark.parametrize("name", NAMES)
def test_an_object_is_read_with_good_signatures(hone, account, content, name, tmp_path):
    out = tmp_path / "out.img"
    done = hone.run("convert", "-q", f"s3://{BUCKET}/{name}", out,
                    env={**account, "HOME": str(tmp_path)})
    assert (done.returncode, WARNING.sub(b"", done.stderr)) == (0, b"")
    assert out.read_bytes() == content


@pytest.mark.parametrize("change", [
    {"AWS_SECRET_ACCESS_KEY": "another"}, {"AWS_ACCESS_KEY_ID": "AKIANOBODY"},
    {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}],
    ids=["secret", "key", "none"])
def test_a_wrong_signature_is_refused(hone, account, change, tmp_path):
    out = tmp_path / "out.img"
    done = hone.run("convert", "-q", f"s3://{BUCKET}/disk.img", out,
                    env={**account, **change, "HOME": str(tmp_path)})
    assert done.returncode == 1
    assert "403" in error_line(WARNING.sub(b"", done.stderr))
    assert not out.exists()
