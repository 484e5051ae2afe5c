import { Module } from '@nestjs/common';
import { FilesModule } from '../files/files.module.ts';
import { MessagesModule } from '../messages/messages.module.ts';
import { FeedbackService } from './feedback.service.ts';
import { NeuralAccess } from './neural-access.ts';
import { NeuralController } from './neural.controller.ts';
import { NeuralRepository } from './neural.repository.ts';
import { NeuralService } from './neural.service.ts';
import { OcrService } from './ocr.service.ts';
import { NeuralThreads } from './threads/neural-threads.ts';

/** Automatic analysis of mail, done entirely on this server. Off by default. */
@Module({
  imports: [MessagesModule, FilesModule],
  controllers: [NeuralController],
  providers: [
    NeuralService,
    OcrService,
    FeedbackService,
    NeuralRepository,
    NeuralAccess,
    NeuralThreads,
  ],
})
export class NeuralModule {}
