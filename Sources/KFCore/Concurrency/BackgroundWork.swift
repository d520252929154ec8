import Glibc
import KFStorage
import Synchronization

/// A counter of work that outlives its caller, so that `shutdown` can wait for it. Each piece of work holds a token.
final class BackgroundWork: Sendable {
    private struct State {
        var running = 0
        var waiters: [UnsafeContinuation<Void, Never>] = []
    }

    final class Token: Sendable {
        private let background: BackgroundWork

        fileprivate init(_ background: BackgroundWork) { self.background = background }

        deinit { background.end() }
    }

    private let state = Mutex(State())

    func begin() -> Token {
        state.withLock { $0.running += 1 }
        return Token(self)
    }

    private func end() {
        let waiters = state.withLock { state -> [UnsafeContinuation<Void, Never>] in
            state.running -= 1
            guard state.running == 0 else { return [] }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Waits until no work is left.
    func finish() async {
        await withUnsafeContinuation { continuation in
            let isOver = state.withLock { state in
                if state.running > 0 { state.waiters.append(continuation) }
                return state.running == 0
            }
            if isOver { continuation.resume() }
        }
    }
}

/// A wake-up for a thread that waits for a descriptor, which may never become readable.
final class Bell: Sendable {
    private let reading: FileDescriptor
    private let writing: FileDescriptor

    init() throws(StorageError) {
        var ends: [Int32] = [-1, -1]
        try retry("pipe", "pipe") { pipe(&ends) }
        reading = FileDescriptor(taking: ends[0], path: "pipe")
        writing = FileDescriptor(taking: ends[1], path: "pipe")
    }

    /// Wakes the thread, permanently.
    func ring() {
        var byte: UInt8 = 1
        // A full pipe has already been written to.
        _ = write(writing.raw, &byte, 1)
    }

    /// Waits until the descriptor is readable or at its end. Returns false if the bell has rung.
    func waits(for file: borrowing FileDescriptor) throws(StorageError) -> Bool {
        var polled = [
            pollfd(fd: reading.raw, events: Int16(POLLIN), revents: 0),
            pollfd(fd: file.raw, events: Int16(POLLIN), revents: 0),
        ]
        try retry("poll", file.path) { poll(&polled, 2, -1) }
        return polled[0].revents == 0
    }
}
