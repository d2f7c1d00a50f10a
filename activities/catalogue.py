"""The tools of this application; a new tool is added here and nowhere else."""

from activities.billing import CREATE_INVOICE
from activities.chat import NOTIFY
from activities.container import DEPLOY_CONTAINER
from activities.crm import SET_STATUS
from activities.crm_find import FIND_ORDER
from activities.ecs import DEPLOY_SERVICE
from activities.files import WRITE_FILE
from activities.flights import BOOK_FLIGHT
from activities.git import CREATE_BRANCH
from activities.git_find import FIND_BRANCH
from activities.hotels import BOOK_ROOM, BOOK_ROOM_BLIND
from activities.mail import SEND_EMAIL
from activities.payments import TRANSFER_MONEY
from activities.postgres import ADD_COLUMN, RENAME_TABLE
from activities.postgres_migration import MIGRATE
from activities.s3 import CREATE_BUCKET, PUT_OBJECT
from activities.s3_find import FIND_BUCKET
from activities.sms import SEND_SMS
from activities.vm import LAUNCH_INSTANCE
from activities.webhook import POST_EVENT
from rescind import Catalogue

CATALOGUE = Catalogue(
    [
        CREATE_BRANCH,
        CREATE_BUCKET,
        PUT_OBJECT,
        RENAME_TABLE,
        ADD_COLUMN,
        MIGRATE,
        DEPLOY_CONTAINER,
        DEPLOY_SERVICE,
        NOTIFY,
        SET_STATUS,
        CREATE_INVOICE,
        SEND_EMAIL,
        BOOK_FLIGHT,
        BOOK_ROOM,
        BOOK_ROOM_BLIND,
        LAUNCH_INSTANCE,
        WRITE_FILE,
        POST_EVENT,
        SEND_SMS,
        TRANSFER_MONEY,
        FIND_ORDER,
        FIND_BRANCH,
        FIND_BUCKET,
    ]
)
