import { readable, type Readable, writable } from "svelte/store";
import type { Commands, Live } from "../../client/index.js";
import { mayAnywhere } from "../lib/rights.js";
import { messageOf, type Session } from "./session.js";

export type SentReport = Commands["report.list"]["result"]["reports"][number];
export type ReportAction = Commands["report.resolve"]["payload"]["action"];

/** Which reports a list shows. Undefined for all. */
interface Wanted {
  readonly room?: string | undefined;
  readonly state?: SentReport["state"] | undefined;
}

export interface ReportList {
  /** Most recently reported first. Undefined while loading. */
  readonly reports: readonly SentReport[] | undefined;
  readonly more: boolean;
  readonly problem: string | undefined;
}

const LOADING: ReportList = { reports: undefined, more: false, problem: undefined };

/** The reported things that a moderator decides about. */
export class ReportBoard implements Readable<ReportList> {
  readonly #live: Live;
  readonly #store = writable<ReportList>(LOADING);
  readonly subscribe = this.#store.subscribe;
  readonly #ends: (() => void)[];
  #wanted: Wanted = { state: "open" };
  /** The number of pages that are shown. */
  #pages = 1;
  #asked = 0;

  constructor(live: Live) {
    this.#live = live;
    const load = () => void this.load();
    this.#ends = [live.on("report.changed", load), live.on("authenticated", load)];
    load();
  }

  close(): void {
    this.#asked++;
    for (const end of this.#ends) end();
  }

  /** Shows other reports. */
  show(wanted: Wanted): void {
    this.#wanted = wanted;
    this.#pages = 1;
    this.#store.set(LOADING);
    void this.load();
  }

  /** Shows one more page. */
  async showMore(): Promise<void> {
    this.#pages++;
    await this.load();
  }

  /** Reads all shown pages. After an error, the list stays as it was. */
  async load(): Promise<void> {
    const asked = ++this.#asked;
    const { room, state } = this.#wanted;
    const filter = { ...(room !== undefined && { room }), ...(state !== undefined && { state }) };
    try {
      const reports: SentReport[] = [];
      let more = true;
      for (let page = 0; more && page < this.#pages; page++) {
        const last = reports.at(-1)?.id;
        const payload = { ...filter, ...(last !== undefined && { before: last }) };
        const found = await this.#live.call("report.list", payload);
        reports.push(...found.reports);
        more = found.more;
      }
      if (asked === this.#asked) this.#store.set({ reports, more, problem: undefined });
    } catch (error) {
      if (asked !== this.#asked) return;
      this.#store.update((it) => ({ ...it, problem: messageOf(error) }));
    }
  }

  /** Decides about a reported thing, which closes all reports of it. */
  async resolve(id: string, action: ReportAction): Promise<void> {
    await this.#live.call("report.resolve", { id, action });
    await this.load();
  }
}

/** Whether a user decides about reports. */
export const seesReports = (state: Parameters<typeof mayAnywhere>[0]): boolean =>
  mayAnywhere(state, "room:chat.moderate");

const counts = new WeakMap<Session, Readable<number>>();

/** How many reported things wait for a decision of the user. 0 for users who decide about none. */
export function openReports(session: Session): Readable<number> {
  let known = counts.get(session);
  if (!known) {
    known = countOf(session.live);
    counts.set(session, known);
  }
  return known;
}

const countOf = (live: Live): Readable<number> =>
  readable(0, (set) => {
    let isOver = false;
    /** Whether pushes have brought a newer number than the list that is being read. */
    let isPushed = false;
    const read = async () => {
      isPushed = false;
      if (!live.state || !seesReports(live.state)) return set(0);
      try {
        const { open } = await live.call("report.list", { state: "open" });
        if (!isOver && !isPushed) set(open);
      } catch {
        // The next login reads again.
      }
    };
    const ends = [
      live.on("authenticated", () => void read()),
      live.on("report.changed", ({ open }) => {
        isPushed = true;
        set(open);
      }),
    ];
    void read();
    return () => {
      isOver = true;
      for (const end of ends) end();
    };
  });
