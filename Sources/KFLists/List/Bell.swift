import Glibc
import KFStorage

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
