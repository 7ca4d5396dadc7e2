import type { Question, QuestionStore } from "../../../db/contract/question-store.js";
import type { SentQuestion } from "../../../schemas/live/questions.js";
import { isVisible } from "../../../schemas/plain/items.js";
import type { PermissionKey } from "../../../schemas/plain/permissions.js";
import type { FrameFor, PushPipeline } from "../../delivery/push.js";
import type { EntryHandlers, EventOf } from "../../module.js";
import { pushFrame } from "../../socket/frame.js";
import { authorsOf, pushDeleted, pushPinned } from "./shared.js";

/**
 * Converts a question to the form that clients receive. The result names the sender only if the
 * room showed authors when the question was asked.
 */
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

/** Returns the key that people need to see a question. */
const audienceOf = (isVisible: boolean): PermissionKey =>
  isVisible ? "question.read" : "question.moderate";

const frameOf = (question: Question): Buffer =>
  pushFrame("question.created_or_updated", { question: sentQuestion(question) });

/** Ports of the question pushes. */
export interface QuestionPushPorts {
  readonly store: { readonly questions: QuestionStore };
  readonly pushes: PushPipeline;
}

/** Returns the handlers that push question changes to the people in each question's room. */
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
      // A moderator may have changed the question again since it was hidden. If the log no longer
      // has the version that readers saw, or the question has been deleted since, readers are
      // notified that it was deleted.
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
          // The question may have been hidden and changed since the vote. Of the voters, only the
          // question's sender may then still see it.
          const isOwn = authors.has(id) && login?.user === question.sender;
          const sees = view.may(key, room) || (isOwn && view.may("question.read", room));
          return sees ? frame : undefined;
        };
        await send(frameFor);
      },
      { key: id, authors: authorsOf(event) },
    );
  }

  /** Returns the currently pinned question, and the key that people need to see it. */
  async function pinned({ world, room }: EventOf<"question.pinned">) {
    const seen = await questions.seen(world, room, "", true, 1, 0);
    const present = seen.find(({ is_pinned }) => is_pinned);
    return present && { id: present.id, key: audienceOf(isVisible(present)) };
  }
}
