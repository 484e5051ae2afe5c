/** `quickstart` allows one connected account, `standard` any number. */
export const PLANS = ['quickstart', 'standard'] as const;
export type Plan = (typeof PLANS)[number];

/** Features that are enabled per application. `sms`: SMS reminders. `neural`: `/neural`. */
export const APPLICATION_FEATURES = ['sms', 'neural'] as const;
export type ApplicationFeature = (typeof APPLICATION_FEATURES)[number];
