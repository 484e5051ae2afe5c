import { whenNeeded } from '../../platform/base/when-needed.ts';

/** jose, which is loaded when a token of Google is first made or checked. */
export const jose = whenNeeded(
  import.meta.url,
  (require) => require('jose') as typeof import('jose'),
);
