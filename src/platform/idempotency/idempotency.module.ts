import { Module } from '@nestjs/common';
import { IdempotencyKeys } from './idempotency-keys.ts';

/** Idempotency keys, which make it safe to repeat a request. */
@Module({ providers: [IdempotencyKeys], exports: [IdempotencyKeys] })
export class IdempotencyModule {}
