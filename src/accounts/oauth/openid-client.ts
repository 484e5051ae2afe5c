import { whenNeeded } from '../../platform/base/when-needed.ts';

/** openid-client, which is loaded when an account first uses OAuth: with `jose` it takes 1 MB. */
export const openidClient = whenNeeded(
  import.meta.url,
  (require) => require('openid-client') as typeof import('openid-client'),
);
