import type { ConsolePages } from "../en/index.js";

export const words: ConsolePages["announcements"] = {
  announcing: {
    title: "Ankündigungen",
    new: "Neue Ankündigung",
    edit: "Ankündigung bearbeiten",
    text: "Text",
    until: "Zeigen bis",
    untilHint: "Leer: bis Sie sie archivieren.",
    asDraft: "Als Entwurf speichern",
    publishNow: "Jetzt veröffentlichen",
    publish: "Veröffentlichen",
    archive: "Archivieren",
    archiveTitle: "Diese Ankündigung archivieren?",
    archiveText: "Sie verschwindet für alle und kann nicht wieder veröffentlicht werden.",
    none: "Keine Ankündigungen",
    noneText: "Eine Ankündigung sehen alle, die hier sind, sofort.",
    draft: "Entwurf",
    active: "Sichtbar",
    over: "Vorbei",
    archived: "Archiviert",
    shownUntil: "bis {time}",
    past: "Diese Zeit ist schon vorbei. Niemand würde die Ankündigung sehen.",
  },
};
