import type { Poll } from "../../../../db/contract/polls.js";
import type { SentPoll } from "../../../../schemas/live/polls.js";

/** A poll as clients get it. */
export const sentPoll = (poll: Poll, withResults: boolean): SentPoll => ({
  id: poll.id,
  content: poll.content,
  state: poll.state,
  timestamp: new Date(poll.timestamp).toISOString(),
  room_id: poll.room,
  is_pinned: poll.is_pinned,
  options: poll.options.map(({ id, content, order }) => ({
    id,
    content,
    order,
  })),
  ...(withResults && { results: resultsOf(poll) }),
});

/** Without options, clients expect an empty list. */
const resultsOf = ({ results }: Poll): SentPoll["results"] =>
  Object.keys(results).length > 0 ? results : [];
