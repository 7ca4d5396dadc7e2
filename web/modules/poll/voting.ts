import type { Polls } from "../../../client/index.js";
import { t } from "../../i18n/index.js";
import type { Session } from "../../state/session.js";
import { messageOf } from "../../state/session.js";
import { Intents } from "../../state/votes.js";

/**
 * The user's votes in the polls of a room. `wishes` has what the server has not confirmed yet.
 * A refusal becomes a notice.
 */
export function votingIn(session: Session, polls: Polls) {
  const wishes = new Intents<readonly string[]>();
  return {
    wishes,
    /** @param options none withdraws the vote. */
    async vote(id: string, options: readonly string[]): Promise<void> {
      try {
        await wishes.want(id, options, () => polls.vote(id, options));
      } catch (error) {
        session.notices.error(t("common.failed", { reason: messageOf(error) }));
      }
    },
  };
}
