import { GoogleError, invalid, notFound } from '../errors.ts';

/** Colours of a label. Both are of Gmail's palette. */
export interface LabelColor {
  textColor: string;
  backgroundColor: string;
}

/** A label as the interface shows it, without its numbers. */
export interface Label {
  id: string;
  name: string;
  type: 'system' | 'user';
  messageListVisibility?: 'show' | 'hide';
  labelListVisibility?: 'labelShow' | 'labelShowIfUnread' | 'labelHide';
  color?: LabelColor;
}

const SYSTEM = (
  'INBOX SENT DRAFT TRASH SPAM UNREAD STARRED IMPORTANT CHAT CATEGORY_PERSONAL CATEGORY_SOCIAL ' +
  'CATEGORY_PROMOTIONS CATEGORY_UPDATES CATEGORY_FORUMS'
).split(' ');
/** System labels that only Gmail itself gives and takes. */
const UNCHANGEABLE = new Set(['SENT', 'DRAFT', 'CHAT']);
/** Names that belong to Gmail although no label shows them. */
const RESERVED = new Set([
  ...SYSTEM,
  'ALL MAIL',
  'DRAFTS',
  'SENT MAIL',
  'BIN',
  'MUTED',
  'SCHEDULED',
]);
const MOST_LABELS = 10_000;
const LONGEST_NAME = 225;
/** Part of Gmail's palette: the colours of the first rows of its menu. */
export const LABEL_COLORS: ReadonlySet<string> = new Set(
  (
    '#000000 #434343 #666666 #999999 #cccccc #efefef #f3f3f3 #ffffff #fb4c2f #ffad47 #fad165 ' +
    '#16a766 #43d692 #4a86e8 #a479e2 #f691b3 #f6c5be #ffe6c7 #fef1d1 #b9e4d0 #c6f3de #c9daf8 ' +
    '#e4d7f5 #fcdee8 #efa093 #ffd6a2 #fce8b3 #89d3b2 #a0eac9 #a4c2f4 #d0bcf1 #fbc8d9 #e66550 ' +
    '#ffbc6b #fcda83 #44b984 #68dfa9 #6d9eeb #b694e8 #f7a7c0 #cc3a21 #eaa041 #f2c960 #149e60 ' +
    '#3dc789 #3c78d8 #8e63ce #e07798 #ac2b16 #cf8933 #d5ae49 #0b804b #2a9c68 #285bac #653e9b ' +
    '#b65775 #822111 #a46a21 #aa8831 #076239 #1a764d #1c4587 #41236d #83334c'
  ).split(' '),
);

/** Labels of a mailbox, with Gmail's rules for them. */
export class Labels {
  readonly #labels = new Map<string, Label>(
    SYSTEM.map((id) => [
      id,
      {
        id,
        name: id,
        type: 'system',
        messageListVisibility: 'hide',
        labelListVisibility: 'labelHide',
      },
    ]),
  );
  #made = 0;

  all(): Label[] {
    return [...this.#labels.values()];
  }

  get(id: string): Label {
    const label = this.#labels.get(id);
    if (!label) throw notFound();
    return label;
  }

  has(id: string): boolean {
    return this.#labels.has(id);
  }

  /** Finds a label by the name that a search uses. */
  named(name: string): Label | null {
    const wanted = name.toLowerCase().replace(/[\s/]/g, '-');
    const isWanted = (label: Label) =>
      label.name.toLowerCase().replace(/[\s/]/g, '-') === wanted || label.id === name;
    return this.all().find(isWanted) ?? null;
  }

  create(body: Record<string, unknown>): Label {
    if (this.#labels.size >= MOST_LABELS)
      throw new GoogleError(400, 'invalidArgument', 'Too many labels');
    const settings = checkedSettings(body);
    const name = this.#checkedName(settings.name, null);
    this.#made += 1;
    const label: Label = {
      messageListVisibility: 'show',
      labelListVisibility: 'labelShow',
      ...settings,
      id: `Label_${this.#made}`,
      name,
      type: 'user',
    };
    this.#labels.set(label.id, label);
    return label;
  }

  /** Changes the given fields. Other labels keep their names, also those nested in it. */
  change(id: string, body: Record<string, unknown>): Label {
    const label = this.get(id);
    const settings = checkedSettings(body);
    const isRename = settings.name !== undefined && settings.name !== label.name;
    if (label.type === 'system' && (isRename || settings.color))
      throw invalid('Invalid update request', 'failedPrecondition');
    if (isRename) this.#checkedName(settings.name, id);
    Object.assign(label, settings);
    return label;
  }

  remove(id: string): void {
    if (this.get(id).type === 'system')
      throw invalid('Invalid delete request', 'failedPrecondition');
    this.#labels.delete(id);
  }

  /** Throws unless a client may add and remove these labels. */
  checkChangeable(ids: readonly string[]): void {
    if (ids.length > 100) throw invalid('Too many labels');
    for (const id of ids)
      if (!this.#labels.has(id) || UNCHANGEABLE.has(id)) throw invalid(`Invalid label: ${id}`);
  }

  #checkedName(name: string | undefined, own: string | null): string {
    const trimmed = name?.trim() ?? '';
    if (trimmed === '' || trimmed.length > LONGEST_NAME || /^\/|\/$|\/\//.test(trimmed))
      throw invalid('Invalid label name');
    if (RESERVED.has(trimmed.toUpperCase())) throw invalid('Invalid label name');
    const same = this.all().some(
      (label) => label.id !== own && label.name.toLowerCase() === trimmed.toLowerCase(),
    );
    if (same) throw new GoogleError(409, 'aborted', 'Label name exists or conflicts');
    return trimmed;
  }
}

function checkedSettings(body: Record<string, unknown>): Partial<Label> {
  const { name, messageListVisibility, labelListVisibility, color } = body as Partial<Label>;
  if (color) {
    const { textColor, backgroundColor } = color;
    for (const one of [textColor, backgroundColor])
      if (!one || !LABEL_COLORS.has(one))
        throw invalid(`Label color ${one} is not on the allowed color palette`);
  }
  return {
    ...(name !== undefined && { name }),
    ...(messageListVisibility && { messageListVisibility }),
    ...(labelListVisibility && { labelListVisibility }),
    ...(color && { color }),
  };
}
