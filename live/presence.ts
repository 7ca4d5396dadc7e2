import { setImmediate } from "node:timers/promises";
import { detach } from "../db/detach.js";
import type { Events } from "../db/events.js";
import {
  isFlag,
  isId,
  isKindOf,
  isListOf,
  isRecord,
  isTupleOf,
} from "../schemas/plain/shapes.js";
import {
  isStay,
  isStep,
  type PresenceListener,
  type Stay,
  type Step,
  Whereabouts,
} from "./whereabouts.js";

/** What processes tell each other. */
type Report = { process: string } & (
  | /** A process asks for all that the others have, or one of them. */ {
      report: "hello";
      to?: string;
    }
  | /** Steps since the last report. */ {
      report: "steps";
      steps: [world: string, step: Step][];
    }
  | /**
     * Part of all that a process has. What it does not have between its first and its
     * last part, it has no longer.
     */ {
      report: "state";
      stays: Stay[];
      isFirst: boolean;
      isLast: boolean;
      /** Who asked; by default it is for all. */
      to?: string[];
    }
);

const isReport = isKindOf("report", {
  hello: isRecord({ process: isId }, { to: isId }),
  steps: isRecord({
    process: isId,
    steps: isListOf(isTupleOf(isId, isStep)),
  }),
  state: isRecord(
    {
      process: isId,
      stays: isListOf(isStay),
      isFirst: isFlag,
      isLast: isFlag,
    },
    { to: isListOf(isId) },
  ),
});

const TOPIC = "presence";

/** After how many milliseconds steps are reported to other processes, together. */
const REPORT_DELAY = 20;

/**
 * For how many milliseconds a user who left a room still counts as there for its watchers: another
 * process may already know that the user entered it, and reports that soon.
 */
const GRACE = 10 * REPORT_DELAY;

/** Of how many connections is told at a time. */
const SLICE = 500;

/**
 * Who is connected and where, in all processes that share events. It is
 * kept in memory: when a process ends, what it had is gone with it.
 */
export class Presence extends Whereabouts {
  readonly #events: Events;
  readonly #unsubscribe: () => void;
  #unreported: [string, Step][] = [];
  /** The processes that wait for all that this one has. */
  #asking: Set<string> | "all" | undefined;
  #isTelling = false;
  /** The connections of which another process has told since it began to tell all. */
  readonly #told = new Map<string, Set<string>>();
  /** The processes that have told anything. */
  readonly #others = new Set<string>();
  #closed = false;

  constructor(events: Events, listener: PresenceListener) {
    super(listener);
    this.#events = events;
    this.#unsubscribe = events.subscribe((event) => {
      if (event.type === "process.ended") {
        this.#told.delete(event.process);
        this.#others.delete(event.process);
        this.remove(event.process);
      } else if (event.type === "process.began") this.#ask(event.process);
      else if (event.type === "events.missed") {
        this.#ask();
        this.#tellSoon("all");
      } else if (event.type === "live" && event.topic === TOPIC) {
        if (isReport(event.data)) this.#receive(event.data as Report);
      }
    });
    this.#ask();
  }

  close(): void {
    this.#closed = true;
    this.#unsubscribe();
  }

  /** Notes what a connection of this process does, and tells the others. */
  note(world: string, step: Step): void {
    const { process } = this.#events;
    this.apply(process, world, step);
    if (this.#unreported.push([world, step]) === 1) {
      setTimeout(this.#report, REPORT_DELAY).unref();
    }
    if (step.do === "attend" || step.do === "subscribe") {
      this.#attendToo(world, step);
    }
  }

  protected override noteLeft(world: string, room: string, user: string) {
    if (this.#others.size === 0) {
      super.noteLeft(world, room, user);
      return;
    }
    setTimeout(() => {
      const isBack = this.isIn(world, room, user);
      if (!this.#closed && !isBack) super.noteLeft(world, room, user);
    }, GRACE).unref();
  }

  readonly #report = (): void => {
    const steps = this.#unreported;
    if (steps.length === 0) return;
    this.#unreported = [];
    this.#send({ report: "steps", process: this.#events.process, steps });
  };

  /**
   * While a user is a member of a channel by any connection, each connection that
   * listens makes them one: the membership ends with the last of them. A process
   * decides that for its own, so that all agree in the end, whose word comes first.
   */
  #attendToo(
    world: string,
    { connection, channel }: { connection: string; channel: string },
  ): void {
    const user = this.userOf(connection);
    if (user === undefined || !this.attends(world, channel, user)) return;
    const { process } = this.#events;
    for (const id of this.listening(process, connection, channel, false)) {
      this.note(world, { do: "attend", connection: id, channel });
    }
    // The user may next end their other subscriptions, in another process.
    this.#report();
  }

  #send(data: Report): void {
    this.#events.publish({ type: "live", topic: TOPIC, data });
  }

  /** Asks a process for all that it has; by default all of them. */
  #ask(to?: string): void {
    const { process } = this.#events;
    this.#send({ report: "hello", process, ...(to !== undefined && { to }) });
  }

  #receive(report: Report): void {
    const { process } = report;
    const own = this.#events.process;
    if (process === own) return;
    this.#others.add(process);
    switch (report.report) {
      case "hello":
        if (report.to === undefined || report.to === own) {
          this.#tellSoon(process);
        }
        break;
      case "steps":
        for (const [world, step] of report.steps) {
          if (step.do === "open") this.#told.get(process)?.add(step.connection);
          this.#take(process, world, step);
        }
        break;
      case "state":
        if (!report.to || report.to.includes(own)) this.#renew(report);
    }
  }

  /** Tells others soon all that this process has. */
  #tellSoon(to: string): void {
    const before = this.#asking;
    if (to === "all" || before === "all") this.#asking = "all";
    else this.#asking = (before ?? new Set()).add(to);
    if (!before && !this.#isTelling) this.#tellLater();
  }

  #tellLater(): void {
    setTimeout(() => detach(this.#tellAll()), REPORT_DELAY).unref();
  }

  async #tellAll(): Promise<void> {
    const asking = this.#asking;
    if (!asking) return;
    this.#asking = undefined;
    this.#isTelling = true;
    const { process } = this.#events;
    const ids = this.connectionsIn(process);
    for (let i = 0; i === 0 || i < ids.length; i += SLICE) {
      if (i > 0) await setImmediate();
      if (this.#closed) return;
      // Steps that are part of the state may not follow it.
      this.#report();
      this.#send({
        report: "state",
        process,
        stays: ids.slice(i, i + SLICE).flatMap((id) => this.stayOf(id) ?? []),
        isFirst: i === 0,
        isLast: i + SLICE >= ids.length,
        ...(asking !== "all" && { to: [...asking] }),
      });
    }
    this.#isTelling = false;
    if (this.#asking) this.#tellLater();
  }

  /** Takes what another process says that it has. */
  #renew({
    process,
    stays,
    isFirst,
    isLast,
  }: Extract<Report, { report: "state" }>): void {
    if (isFirst) this.#told.set(process, new Set());
    const told = this.#told.get(process);
    // Who missed the beginning has asked again.
    if (!told) return;
    for (const stay of stays) {
      told.add(stay.connection);
      for (const step of this.stepsTo(stay)) {
        this.#take(process, stay.world, step);
      }
    }
    if (!isLast) return;
    this.#told.delete(process);
    for (const connection of this.connectionsIn(process)) {
      const world = !told.has(connection) && this.stayOf(connection)?.world;
      if (world) this.#take(process, world, { do: "close", connection });
    }
  }

  /** Takes a step of another process. */
  #take(process: string, world: string, step: Step): void {
    const own = this.#events.process;
    const quitting =
      step.do === "absent"
        ? this.listening(own, step.connection, step.channel, true)
        : [];
    this.apply(process, world, step);
    if (step.do === "attend") this.#attendToo(world, step);
    for (const connection of quitting) {
      // The others may have heard of these later than of the step.
      const { channel } = step as { channel: string };
      this.note(world, { do: "quit", connection, channel });
    }
  }
}
