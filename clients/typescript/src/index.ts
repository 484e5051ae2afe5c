export { Carillon, type CarillonOptions } from './client.ts';
export { CarillonError } from './error.ts';
export type { components, operations, paths } from './schema.ts';
export type { Answer, Input, ItemOf, ListPath, PathOf, Schemas } from './types.ts';
export { type ReceivedWebhook, verifyWebhook, type WebhookDelta } from './webhooks.ts';
