import { Module } from '@nestjs/common';
import { JobStatusesController } from './job-statuses.controller.ts';
import { JobStatusesRepository } from './job-statuses.repository.ts';
import { JobStatusesService } from './job-statuses.service.ts';

@Module({
  controllers: [JobStatusesController],
  providers: [JobStatusesRepository, JobStatusesService],
})
export class JobStatusesModule {}
