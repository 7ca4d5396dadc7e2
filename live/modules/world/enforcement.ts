import type { InviteStore } from "../../../db/contract/invite-store.js";
import type { UserStore } from "../../../db/contract/store.js";
import type { Clock } from "../../../db/runtime.js";
import type { Scope } from "../../../schemas/plain/permissions.js";
import type { Outboxes } from "../../delivery/outbox.js";
import type { Pushes } from "../../delivery/push.js";
import type { Gathering, Hub } from "../../people/hub.js";
import { isInvited } from "../../rules/rights.js";
import type { WorldState, WorldStates } from "../../rules/world-state.js";
import type { Connection } from "../../socket/connection.js";
import {
  applyModeration,
  isGone,
  reasonToEnd,
  type RightsFrame,
  throwOut,
} from "../../socket/endings.js";

/**
 * Changes of a world are looked at and sent together, at most once in this time, in milliseconds.
 * A second full of changes then makes four pushes, the last change included.
 */
export const COALESCED = 300;

/** Names one comparison of users with the store. */
type Comparison = object;

/** The ports of the enforcement of rights. */
export interface EnforcementPorts {
  readonly clock: Clock;
  readonly hub: Hub;
  readonly outboxes: Outboxes;
  readonly pushes: Pushes;
  readonly states: WorldStates;
  readonly store: { readonly users: UserStore; readonly invites: InviteStore };
  /** The push that brings a connection its new rights; undefined for none. */
  readonly rightsFrame: RightsFrame;
}

/**
 * Takes from connections what their users may not have any more, in the queue of the world, so
 * before all pushes that come later. If the store is slow, their pushes wait.
 */
export class Enforcement {
  readonly #ports: EnforcementPorts;
  /** The last comparison of each connection's user that was asked for. */
  readonly #compared = new WeakMap<Connection, Comparison>();

  constructor(ports: EnforcementPorts) {
    this.#ports = ports;
  }

  /**
   * Pushes nothing to these connections until all that is in the queue of their world has ended.
   * @param since when their users may have lost a right.
   */
  #hold(world: string, connections: Iterable<Connection>, since: number): void {
    const ended = this.#ports.outboxes.ended(world);
    if (!ended) return;
    for (const connection of connections) connection.holdUntil(since, ended);
  }

  /**
   * Before any later push of a world, each connection notes the rights that its user has lost,
   * or ends. If that takes long, nothing is pushed until then.
   */
  checkRights(world: string): void {
    const { clock, outboxes, hub } = this.#ports;
    const people = hub.gathering(world);
    if (!people) return;
    const since = clock.now() - COALESCED;
    outboxes.at(world).enforce(
      () => this.#checkLogins(world, people),
      () => this.#hold(world, people.all, since),
      () => people.isOver,
    );
  }

  async #checkLogins(world: string, people: Gathering): Promise<void> {
    const { clock, pushes, states } = this.#ports;
    const state = await states.get(world);
    const connections = [...people.all];
    const uninvited = await this.#uninvited(world, state, connections);
    await pushes.each(connections, (connection, { identity, scope }) => {
      const reason =
        reasonToEnd(identity, state?.world, clock.date(), scope) ??
        (uninvited.has(scope) ? "auth.invalid_token" : undefined);
      if (reason) throwOut(connection, reason);
      // What waits in the connection may have become too old to be sent.
      else connection.viewOf(state!);
      return undefined;
    });
  }

  /** The scopes of connections whose links have ended. */
  async #uninvited(
    world: string,
    state: WorldState | undefined,
    connections: readonly Connection[],
  ): Promise<ReadonlySet<Scope | undefined>> {
    const scopes = new Set(connections.map(({ login }) => login?.scope));
    const ended = new Set<Scope | undefined>();
    const now = this.#ports.clock.date();
    const ends = new Map<string, boolean>();
    for (const scope of scopes) {
      if (scope?.kind !== "anonymous") continue;
      let isOver = ends.get(scope.token);
      if (isOver === undefined) {
        const { invites } = this.#ports.store;
        const invite = await invites.find(world, scope.token);
        isOver = !isInvited(invite, state?.room(scope.room), now);
        ends.set(scope.token, isOver);
      }
      if (isOver) ended.add(scope);
    }
    return ended;
  }

  /**
   * Compares the users of connections with the store. Until then nothing is pushed to
   * them: banned users get nothing that was sent after that.
   */
  compare(world: string, connections: Connection[]): void {
    const { clock, outboxes } = this.#ports;
    const comparison: Comparison = {};
    for (const connection of connections) {
      this.#compared.set(connection, comparison);
    }
    const isLast = (connection: Connection) => this.#compared.get(connection) === comparison;
    const compare = () => this.#compareNow(world, connections, isLast);
    const isOver = () => connections.every(({ ended }) => ended);
    outboxes.at(world).enforce(compare, () => {}, isOver);
    this.#hold(world, connections, clock.now());
  }

  /**
   * Makes connections of users who were banned, silenced or erased load everything again.
   * @param isLast whether no later entry is about the user of a connection.
   */
  async #compareNow(
    world: string,
    connections: Connection[],
    isLast: (connection: Connection) => boolean,
  ): Promise<void> {
    const logins = connections.flatMap((connection) => {
      const { login } = connection;
      return login ? [{ connection, login }] : [];
    });
    const ids = [...new Set(logins.map(({ login }) => login.user))];
    const users = await this.#ports.store.users.getMany(world, ids);
    // A ban counts also while the rooms cannot be read.
    let fault: { error: unknown } | undefined;
    const reading = this.#ports.states.get(world);
    const state = await reading.catch((error: unknown) => {
      fault = { error };
      return undefined;
    });
    const byId = new Map(users.map((user) => [user.id, user]));
    for (const { connection, login } of logins) {
      // The login may have failed meanwhile.
      if (connection.login !== login) continue;
      const user = byId.get(login.user);
      // An entry that came while the store was read may be a ban: its own comparison
      // says what holds, and until then the user gets nothing.
      if (!isGone(user) && !isLast(connection)) continue;
      applyModeration(connection, user, state, this.#ports.rightsFrame);
    }
    // What needs the state is done when it can be read.
    if (fault) throw fault.error;
  }
}
