import type { Question } from "../../../../db/contract/questions.js";
import type { SentQuestion } from "../../../../schemas/live/questions.js";

/** A question as clients get it. It says who asked only if that was so when it was asked. */
export const sentQuestion = (question: Question): SentQuestion => ({
  id: question.id,
  content: question.content,
  state: question.state,
  answered: question.answered,
  timestamp: new Date(question.timestamp).toISOString(),
  room_id: question.room,
  score: question.score,
  is_pinned: question.is_pinned,
  ...(question.named &&
    question.sender !== null && { sender: question.sender }),
});
