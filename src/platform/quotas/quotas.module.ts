import { Module } from '@nestjs/common';
import { Quotas } from './quotas.ts';

/** Limits of what costs the operator money. */
@Module({ providers: [Quotas], exports: [Quotas] })
export class QuotasModule {}
