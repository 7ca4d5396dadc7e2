import type { Question, QuestionStore } from "../../../db/contract/question-store.js";
import type { SentQuestion } from "../../../schemas/live/questions.js";
import { isVisible } from "../../../schemas/plain/items.js";
import type { PermissionKey } from "../../../schemas/plain/permissions.js";
import type { FrameFor, Pushes } from "../../delivery/push.js";
import type { EntryHandlers, EventOf } from "../../module.js";
import { pushFrame } from "../../socket/frame.js";
import { authorsOf, pushDeleted, pushPinned } from "./shared.js";

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
  ...(question.named && question.sender !== null && { sender: question.sender }),
});

/** The key of the people who see a question. */
const audienceOf = (isVisible: boolean): PermissionKey =>
  isVisible ? "question.read" : "question.moderate";

const frameOf = (question: Question): Buffer =>
  pushFrame("question.created_or_updated", { question: sentQuestion(question) });

/** What pushes about questions need. */
export interface QuestionPushPorts {
  readonly store: { readonly questions: QuestionStore };
  readonly pushes: Pushes;
}

/** Pushes to the people in rooms what happens to questions. */
export function questionPushes(ports: QuestionPushPorts): EntryHandlers {
  const { pushes } = ports;
  const { questions } = ports.store;

  return {
    "question.saved": saved,
    "question.voted": voted,
    "question.deleted": (event) =>
      pushDeleted(pushes, event, "question", event.question, audienceOf(event.wasVisible)),
    "question.pinned": (event) =>
      pushPinned(pushes, event, "question", event.question, () => pinned(event)),
  };

  function saved(event: EventOf<"question.saved">): void {
    const { world, room, question: id, hid, hidden } = event;
    pushes.push({ world, room }, async (send) => {
      const question = await questions.get(world, room, id);
      const now = question && frameOf(question);
      if (!hid || (question && isVisible(question))) {
        if (!question) return;
        const key = audienceOf(isVisible(question));
        await send((_, view) => (view.may(key, room) ? now : undefined));
        return;
      }
      // A moderator may have changed it once more since it was hidden. If the log no longer
      // has what readers saw, it is gone for them: so it is if it was deleted meanwhile.
      const last = hidden ? frameOf(hidden) : pushFrame("question.deleted", { room, id });
      await send((_, view) => {
        if (!view.may("question.read", room)) return undefined;
        return view.may("question.moderate", room) ? now : last;
      });
    });
  }

  function voted(event: EventOf<"question.voted">): void {
    const { world, room, question: id } = event;
    pushes.push(
      { world, room },
      async (send, authors) => {
        const question = await questions.get(world, room, id);
        if (!question) return;
        const frame = frameOf(question);
        const key = audienceOf(isVisible(question));
        const frameFor: FrameFor = ({ id, login }, view) => {
          // It may be hidden by now, and changed since.
          const isOwn = authors.has(id) && login?.user === question.sender;
          const sees = view.may(key, room) || (isOwn && view.may("question.read", room));
          return sees ? frame : undefined;
        };
        await send(frameFor);
      },
      { key: id, authors: authorsOf(event) },
    );
  }

  /** The question that is pinned now, and the key of the people who see it. */
  async function pinned({ world, room }: EventOf<"question.pinned">) {
    const seen = await questions.seen(world, room, "", true, 1, 0);
    const present = seen.find(({ is_pinned }) => is_pinned);
    return present && { id: present.id, key: audienceOf(isVisible(present)) };
  }
}
