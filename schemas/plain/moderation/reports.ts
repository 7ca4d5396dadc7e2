/** What people can report. */
export const reportKinds = ["message", "question", "user"] as const;
export type ReportKind = (typeof reportKinds)[number];

/** Why people report something. */
export const reportReasons = ["spam", "harassment", "privacy", "other"] as const;
export type ReportReason = (typeof reportReasons)[number];

/** What moderators decide about a reported thing. `deleted` is for messages and questions. */
export const reportActions = ["dismissed", "deleted", "silenced", "banned"] as const;
export type ReportAction = (typeof reportActions)[number];

/** The states of a reported thing: open until somebody decides. */
export const reportStates = ["open", ...reportActions] as const;
export type ReportState = (typeof reportStates)[number];
