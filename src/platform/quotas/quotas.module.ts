import { Module } from '@nestjs/common';
import { Quotas } from './quotas.ts';

/** Quotas on operations that cost the operator money. */
@Module({ providers: [Quotas], exports: [Quotas] })
export class QuotasModule {}
