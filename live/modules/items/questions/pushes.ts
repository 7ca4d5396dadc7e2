import type { Entry } from "../../../../db/log/entries.js";
import type {
  Question,
  QuestionStore,
} from "../../../../db/contract/questions.js";
import type { EntryHandlers, EventOf } from "../../../module.js";
import { isVisible } from "../../../../schemas/plain/items.js";
import type { PermissionKey } from "../../../../schemas/plain/permissions.js";
import type { Connection } from "../../../socket/connection.js";
import { pushFrame } from "../../../socket/frame.js";
import {
  type Authors,
  nothingSent,
  Paced,
  type PacePorts,
  type Sent,
  type Subject,
} from "../../../delivery/paced.js";
import {
  authorsOf,
  concernsAnybody,
  inTurn,
  type Place,
  pushChange,
  pushInRoom,
  pushPin,
  type RoomPushPorts,
  tellHolders,
} from "../../../delivery/room-pushes.js";
import type { View } from "../../../rules/world-state.js";
import { sentQuestion } from "./shapes.js";

type Saved = Extract<Entry, { type: "question.saved" }>;

/** The key of those who are told of a question. */
const audienceOf = (isVisible: boolean): PermissionKey =>
  isVisible ? "question.read" : "question.moderate";

const frameOf = (question: Question): Buffer =>
  pushFrame("question.created_or_updated", {
    question: sentQuestion(question),
  });

/** What pushes about questions need. */
export interface QuestionPushPorts extends PacePorts, RoomPushPorts {
  readonly store: { readonly questions: QuestionStore };
}

/** Tells people in rooms what happens to questions. */
export class QuestionPushes {
  readonly #ports: QuestionPushPorts;
  readonly #votes: Paced<string>;

  /** What it does with each entry. */
  readonly handlers: EntryHandlers = {
    "question.voted": (event) => this.#voted(event),
    "question.saved": (event) =>
      pushChange(this.#ports, event, () => this.#pushSaved(event)),
    "question.deleted": (event) => this.#deleted(event),
    "question.pinned": (event) =>
      pushChange(this.#ports, event, () =>
        pushPin(this.#ports, event, "question", event.question, () =>
          this.#pinned(event),
        ),
      ),
  };

  constructor(ports: QuestionPushPorts) {
    this.#ports = ports;
    this.#votes = new Paced(ports, {
      send: (...args) => this.#pushVotes(...args),
      sizeOf: (world, room) => ports.hub.inRoom(world, room).size,
    });
  }

  close(): void {
    this.#votes.close();
  }

  #voted(event: EventOf<"question.voted">): void {
    if (!concernsAnybody(this.#ports, event)) return;
    const { world, room, question } = event;
    const subject = { world, place: room, id: question };
    this.#votes.add(subject, authorsOf(event));
  }

  #deleted(event: EventOf<"question.deleted">): void {
    const ports = this.#ports;
    const key = audienceOf(event.wasVisible);
    const data = { id: event.question };
    pushChange(ports, event, () =>
      tellHolders(ports, event, key, "question.deleted", data),
    );
  }

  async #pushSaved({
    world,
    room,
    question: id,
    hid,
    hidden,
  }: Saved): Promise<void> {
    const question = await this.#find(world, room, id);
    const now = question && frameOf(question);
    if (!hid || (question && isVisible(question))) {
      if (!question) return;
      const key = audienceOf(isVisible(question));
      await pushInRoom(this.#ports, world, room, (_, view) =>
        view.may(key, room) ? now : undefined,
      );
      return;
    }
    // A moderator may have changed it once more since it was hidden. If the log no longer
    // has what readers saw, it is gone for them: so it is if it was deleted meanwhile.
    const last = hidden
      ? frameOf(hidden)
      : pushFrame("question.deleted", { room, id });
    await pushInRoom(this.#ports, world, room, (_, view) => {
      if (!view.may("question.read", room)) return undefined;
      return view.may("question.moderate", room) ? now : last;
    });
  }

  async #pushVotes(
    { world, place, id }: Subject<string>,
    authors: Authors,
  ): Promise<Sent> {
    return inTurn(this.#ports, place, async () => {
      const question = await this.#find(world, place, id);
      if (!question) return nothingSent;
      const frame = frameOf(question);
      const key = audienceOf(isVisible(question));
      // It may be hidden by now, and changed since.
      const isOwn = ({ id, login }: Connection) =>
        authors.has(id) && login?.user === question.sender;
      const isTold = (connection: Connection, view: View) =>
        view.may(key, place) ||
        (isOwn(connection) && view.may("question.read", place));
      const frameFor = (connection: Connection, view: View) =>
        isTold(connection, view) ? frame : undefined;
      return pushInRoom(this.#ports, world, place, frameFor, authors);
    });
  }

  #find(
    world: string,
    room: string,
    id: string,
  ): Promise<Question | undefined> {
    return this.#ports.store.questions.get(world, room, id);
  }

  /** The question that is pinned now, and the key of those who are told. */
  async #pinned({ world, room }: Place) {
    const { questions } = this.#ports.store;
    const seen = await questions.seen(world, room, "", true, 1, 0);
    const present = seen.find(({ is_pinned }) => is_pinned);
    return present && { id: present.id, key: audienceOf(isVisible(present)) };
  }
}
