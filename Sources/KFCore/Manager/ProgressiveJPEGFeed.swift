import KFImaging
import KFStorage
import KFSystem
import Synchronization

/// Decodes a progressive JPEG beside its transfer, and shows the picture after every scan.
final class ProgressiveJPEGFeed: Sendable {
    /// The decoder is used by one worker at a time: whoever has set `isWorking`.
    private struct State: ~Copyable {
        var waiting: [UInt8] = []
        var isWorking = false
        var hasFailed = false
        var decoder: Box
    }

    private final class Box: @unchecked Sendable {
        // Only touched by the one worker that holds `isWorking`, which passes from thread to thread under the lock.
        let decoder: ProgressiveJPEGDecoder
        init(_ options: DecodeOptions) { decoder = ProgressiveJPEGDecoder(options: options) }
    }

    private let state: Mutex<State>
    private let show: @Sendable (Image) -> Void

    init(_ options: DecodeOptions, show: @escaping @Sendable (Image) -> Void) {
        state = Mutex(State(decoder: Box(options)))
        self.show = show
    }

    /// The next bytes; returns at once.
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
                // It is no progressive JPEG, or a broken one: that is for the one who checks the whole to say.
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
