import KFImaging
import KFStorage
import KFSystem
import Synchronization

/// A decoder of a progressive JPEG that runs beside its transfer and shows the picture after every scan.
final class ProgressiveJPEGFeed: Sendable {
    /// One worker at a time uses the decoder: the one that has set `isWorking`.
    private struct State: ~Copyable {
        var waiting: [UInt8] = []
        var isWorking = false
        var hasFailed = false
        var decoder: Box
    }

    private final class Box: @unchecked Sendable {
        // Used only by the worker that holds `isWorking`, which passes from thread to thread under the lock.
        let decoder: ProgressiveJPEGDecoder
        init(_ options: DecodeOptions) { decoder = ProgressiveJPEGDecoder(options: options) }
    }

    private let state: Mutex<State>
    private let show: @Sendable (Image) -> Void

    init(_ options: DecodeOptions, show: @escaping @Sendable (Image) -> Void) {
        state = Mutex(State(decoder: Box(options)))
        self.show = show
    }

    /// Takes the next bytes, and returns at once.
    func receive(_ bytes: UnsafeRawBufferPointer) {
        let starts = state.withLock { state in
            guard !state.hasFailed else { return false }
            state.waiting.append(contentsOf: bytes)
            defer { state.isWorking = true }
            return !state.isWorking
        }
        if starts { Task { await WorkerPool.processing.run { [self] in work() } } }
    }

    private func work() {
        while let (bytes, box) = next() {
            do {
                if let image = try box.decoder.append(bytes) { show(image) }
            } catch {
                // The bytes are not a progressive JPEG, or damaged. The check of the whole image reports that.
                state.withLock { $0.hasFailed = true }
            }
        }
    }

    private func next() -> ([UInt8], Box)? {
        state.withLock { state in
            guard !state.waiting.isEmpty, !state.hasFailed else {
                state.isWorking = false
                return nil
            }
            defer { state.waiting = [] }
            return (state.waiting, state.decoder)
        }
    }
}
