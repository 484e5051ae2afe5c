import { Module } from '@nestjs/common';
import { IdempotencyKeys } from './idempotency-keys.ts';

/** Requests that may be repeated without harm. */
@Module({ providers: [IdempotencyKeys], exports: [IdempotencyKeys] })
export class IdempotencyModule {}
