"""Whether offers stand: for executors that took some from queues which may be older than what the channels tell.

An offer stands while its execution waits to be taken and was not offered anew. Who asks has to have been given it: the
report key came with it, and the token speaks for its app. Of any other execution nothing is said, be it open, ended or
unknown; it is left out, and whoever asked begins nothing.
"""

from orth.coordinator.executor_keys import ExecutorKey
from orth.coordinator.http.tools import Tools
from orth.store.offering import StandingOffer, standing_offers
from orth.wire.open_offers import AskedOffer, OpenOffers, OpenOffersQuestion


async def open_offers(tools: Tools, key: ExecutorKey, question: OpenOffersQuestion) -> OpenOffers:
    asked = {one.execution_id: one for one in question.offers}
    found, newest = await tools.db.read(standing_offers, asked)

    def stands(offer: StandingOffer, told: AskedOffer) -> bool:
        if told.report_key is None or not key.serves(offer.app_name) or told.sending != offer.sending:
            return False
        return tools.door.report_keys.fits(told.report_key, offer.id, offer.trigger_time)

    return OpenOffers(open=tuple(one.id for one in found if stands(one, asked[one.id])), newest=newest)
