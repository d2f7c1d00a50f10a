"""The tools for S3: buckets and objects."""

from activities.s3_bucket import CREATE_BUCKET, Bucket, CreateBucket
from activities.s3_object import PUT_OBJECT, PutObject, StoredObject

__all__ = ["CREATE_BUCKET", "PUT_OBJECT", "Bucket", "CreateBucket", "PutObject", "StoredObject"]
