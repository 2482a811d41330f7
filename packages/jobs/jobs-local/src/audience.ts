/**
 * Who controls the jobs of an owner and who hears of them: registrations layered by the scope that made them. A
 * listener's failure is logged and goes no further.
 * @module @deepseek-ai/dsh-jobs-local/audience
 */
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { JobDoneListener, JobSnapshot, JobsChangedListener } from '@deepseek-ai/dsh-jobs'
import { AnonymousEntries, ScopedLayers, scopeOf, type ScopeLayer } from '@deepseek-ai/dsh-scope'

/** What one scope has registered. */
class Layer implements ScopeLayer {
  readonly controllers = new AnonymousEntries<string>()
  readonly done = new AnonymousEntries<JobDoneListener>()
  readonly changed = new AnonymousEntries<JobsChangedListener>()

  isEmpty(): boolean {
    return this.controllers.isEmpty() && this.done.isEmpty() && this.changed.isEmpty()
  }
}

/** The registrations of one registry. Each is an effect of the context that made it. */
export class Audience {
  private readonly layers = new ScopedLayers<Layer>(
    () => new Layer(),
    () => undefined,
  )
  private readonly warn: (message: string) => void
  private silenced = false

  /** @param warn - takes the report of a failed listener. */
  constructor(warn: (message: string) => void) {
    this.warn = warn
  }

  /** Add a controller. `ctx` decides both whom it serves and how long. */
  attach(ctx: Context, name: string): () => void {
    return this.layers.effect(ctx, layer => layer.controllers.append(name), { label: 'jobs.attachController()' })
  }

  /** Add a completion listener. */
  onDone(ctx: Context, listener: JobDoneListener): () => void {
    return this.layers.effect(ctx, layer => layer.done.append(listener), { label: 'jobs.onJobDone()' })
  }

  /** Add a listener for changes of the visible set. */
  onChanged(ctx: Context, listener: JobsChangedListener): () => void {
    return this.layers.effect(ctx, layer => layer.changed.append(listener), { label: 'jobs.onJobsChanged()' })
  }

  /** Whether some controller serves this owner; for unowned work only an unscoped one does. */
  serves(owner: Agent | undefined): boolean {
    const attached = (layer: Layer) => !layer.controllers.isEmpty()
    return attached(this.layers.global) || this.layersOf(owner).some(attached)
  }

  /** Tell the owner's listeners that a set of visible jobs changed. */
  tellChanged(owner: Agent | undefined): void {
    const listeners = this.layersOf(owner).flatMap(layer => [...layer.changed.values()])
    for (const listener of listeners)
      this.contain('onJobsChanged', '', () => {
        listener(owner)
      })
  }

  /** Tell the owner's listeners how a job ended. Each gets a snapshot of its own. */
  tellDone(owner: Agent | undefined, snapshot: () => JobSnapshot): void {
    if (this.silenced) return
    const listeners = this.layersOf(owner).flatMap(layer => [...layer.done.values()])
    for (const listener of listeners) {
      const copy = snapshot()
      this.contain('onJobDone', ` for ${copy.id}`, () => listener(copy, owner))
    }
  }

  /** From now on nobody hears of completions: their readers are being destroyed with the service. */
  silenceDone(): void {
    this.silenced = true
  }

  private layersOf(owner: Agent | undefined): Layer[] {
    return [this.layers.global, ...this.layers.chainLayers(owner && scopeOf(owner.ctx))]
  }

  private contain(listener: string, subject: string, call: () => unknown): void {
    const report = (verb: string) => (error: unknown) => {
      this.warn(`${listener} listener ${verb}${subject}: ${String(error)}`)
    }
    try {
      void Promise.resolve(call()).catch(report('rejected'))
    } catch (error) {
      report('threw')(error)
    }
  }
}
