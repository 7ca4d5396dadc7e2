import type { Events } from "../db/events.js";
import {
  type PresenceListener,
  type Step,
  Whereabouts,
} from "./whereabouts.js";

/** What processes tell each other. */
type Report = { process: string } & (
  | /** A process has started, and asks for the state of the others. */ {
      report: "hello";
    }
  | /** Steps since the last report; with `to`, all that lead to the present state. */ {
      report: "steps";
      steps: [world: string, step: Step][];
      to?: string;
    }
);

const TOPIC = "presence";

/** After how many milliseconds steps are reported to other processes, together. */
const REPORT_DELAY = 20;

/**
 * Who is connected and where, in all processes that share events. It is
 * kept in memory: when a process ends, what it had is gone with it.
 */
export class Presence extends Whereabouts {
  readonly #events: Events;
  readonly #unsubscribe: () => void;
  #unreported: [string, Step][] = [];

  constructor(events: Events, listener: PresenceListener) {
    super(listener);
    this.#events = events;
    this.#unsubscribe = events.subscribe((event) => {
      if (event.type === "process.ended") this.remove(event.process);
      else if (event.type === "live" && event.topic === TOPIC) {
        this.#receive(event.data as Report);
      }
    });
    this.#send({ report: "hello", process: events.process });
  }

  close(): void {
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

  #receive(report: Report): void {
    const { process } = report;
    const own = this.#events.process;
    if (process === own) return;
    if (report.report === "hello") {
      const steps = this.stepsOf(own);
      // What is not reported yet is part of it. Steps may come twice.
      this.#send({ report: "steps", process: own, steps, to: process });
    } else if (report.to === undefined || report.to === own) {
      for (const [world, step] of report.steps) {
        this.#take(process, world, step);
      }
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
