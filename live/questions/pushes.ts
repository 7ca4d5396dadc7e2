import type { AnyEvent, WorldEvent } from "../../db/events.js";
import type { Question } from "../../db/questions.js";
import type { Connection } from "../connection.js";
import { pushFrame } from "../frame.js";
import type { Live } from "../live.js";
import { type Authors, Paced, type Subject } from "../paced.js";
import {
  authorsOf,
  concernsAnybody,
  inTurn,
  pushInRoom,
  readingNow,
} from "../room-pushes.js";
import type { View } from "../world-state.js";
import { sentQuestion } from "./shapes.js";

type Changed = Extract<
  WorldEvent,
  { type: "question.saved" | "question.deleted" | "question.pinned" }
>;

/** The key of those who are told of a question. */
const audienceOf = (isVisible: boolean) =>
  isVisible ? "question.read" : "question.moderate";

const isVisible = ({ state }: Question): boolean => state === "visible";

/** Tells people in rooms what happens to questions. */
export class QuestionPushes {
  readonly #live: Live;
  readonly #votes: Paced<string>;
  readonly #unsubscribe: () => void;

  constructor(live: Live) {
    this.#live = live;
    this.#votes = new Paced(live, (...args) => this.#pushVotes(...args));
    this.#unsubscribe = live.events.subscribe((event) => this.#receive(event));
  }

  close(): void {
    this.#unsubscribe();
    this.#votes.close();
  }

  #receive(event: AnyEvent): void {
    const live = this.#live;
    switch (event.type) {
      case "question.voted": {
        if (!concernsAnybody(live, event)) return;
        const { world, room, question } = event;
        const subject = { world, place: room, id: question };
        this.#votes.add(subject, authorsOf(event));
        break;
      }
      case "question.saved":
      case "question.deleted":
      case "question.pinned":
        if (!concernsAnybody(live, event)) return;
        live.effects.inOrder(event.world, () =>
          readingNow(() => this.#push(event)),
        );
    }
  }

  async #push(event: Changed): Promise<void> {
    const { world, room } = event;
    switch (event.type) {
      case "question.saved": {
        const question = await this.#find(world, room, event.question);
        if (!question) return;
        const isTold = event.wasVisible || isVisible(question);
        await this.#saved(world, question, (_, view) =>
          view.may(audienceOf(isTold), room),
        );
        break;
      }
      case "question.deleted": {
        const data = { room, id: event.question };
        const key = audienceOf(event.wasVisible);
        await this.#send(world, room, "question.deleted", data, key);
        break;
      }
      case "question.pinned":
        await this.#pinned(world, room, event.question);
    }
  }

  /** @returns how many bytes were sent. */
  async #pushVotes(
    { world, place, id }: Subject<string>,
    authors: Authors,
  ): Promise<number> {
    return inTurn(this.#live, world, async () => {
      const question = await this.#find(world, place, id);
      if (!question) return 0;
      const key = audienceOf(isVisible(question));
      const isTold = (connection: Connection, view: View) =>
        view.may(key, place) ||
        (authors.has(connection.id) && view.may("question.vote", place));
      return this.#saved(world, question, isTold, authors);
    });
  }

  #find(
    world: string,
    room: string,
    id: string,
  ): Promise<Question | undefined> {
    return this.#live.store.questions.get(world, room, id);
  }

  #saved(
    world: string,
    question: Question,
    isTold: (connection: Connection, view: View) => boolean,
    authors?: Authors,
  ): Promise<number> {
    const frame = pushFrame("question.created_or_updated", {
      question: sentQuestion(question),
    });
    return pushInRoom(
      this.#live,
      world,
      question.room,
      (...args) => (isTold(...args) ? frame : undefined),
      authors,
    );
  }

  /** @param id of the question that was pinned; null for none. */
  async #pinned(world: string, room: string, id: string | null) {
    if (id === null) {
      await this.#send(
        world,
        room,
        "question.unpinned",
        { room },
        "question.read",
      );
    }
    // Events of two processes have no order: the pin that the store has is the last.
    const { questions } = this.#live.store;
    const seen = await questions.seen(world, room, "", true, 1, 0);
    const present = seen.find(({ is_pinned }) => is_pinned);
    if (!present || (id ?? present.id) !== present.id) return;
    const key = audienceOf(isVisible(present));
    const data = { room, id: present.id };
    await this.#send(world, room, "question.pinned", data, key);
  }

  async #send(
    world: string,
    room: string,
    name: string,
    data: object,
    key: "question.read" | "question.moderate",
  ): Promise<void> {
    const frame = pushFrame(name, data);
    await pushInRoom(this.#live, world, room, (_, view) =>
      view.may(key, room) ? frame : undefined,
    );
  }
}
