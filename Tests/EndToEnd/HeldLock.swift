import Foundation
import Support

/// A lock of a cache that this process holds and does nothing with, as a stopped kf would.
final class HeldLock {
    enum Byte: Int64 { case write = 0, users = 1 }

    private static let setLock: Int32 = 37
    private static let getLock: Int32 = 36
    private let file: Int32
    private let byte: Byte

    init(_ kf: KFCommand, _ byte: Byte = .write) throws {
        self.byte = byte
        file = try Self.open(kf)
        var request = Self.request(byte)
        guard fcntl(file, Self.setLock, &request) == 0 else {
            close(file)
            throw RunningCommand.Failure(description: "the lock is held already")
        }
    }

    deinit { close(file) }

    /// Counts a commit, as a kf that works does.
    func commit(_ number: Int64) throws {
        var number = number.littleEndian
        guard pwrite(file, &number, 8, 24) == 8 else {
            throw RunningCommand.Failure(description: String(cString: strerror(errno)))
        }
    }

    func release() {
        var request = Self.request(byte)
        request.l_type = Int16(F_UNLCK)
        _ = fcntl(file, Self.setLock, &request)
    }

    /// Whether somebody holds it.
    static func isHeld(_ kf: KFCommand, _ byte: Byte = .write) throws -> Bool {
        let file = try open(kf)
        defer { close(file) }
        var request = request(byte)
        return fcntl(file, getLock, &request) == 0 && request.l_type != Int16(F_UNLCK)
    }

    private static func open(_ kf: KFCommand) throws -> Int32 {
        let path = kf.cacheDirectory.appendingPathComponent("v1/lock").path
        let file = Glibc.open(path, O_RDWR | O_CLOEXEC)
        guard file >= 0 else {
            throw RunningCommand.Failure(description: "\(path): \(String(cString: strerror(errno)))")
        }
        return file
    }

    private static func request(_ byte: Byte) -> flock {
        var request = flock()
        request.l_type = Int16(F_WRLCK)
        request.l_whence = Int16(SEEK_SET)
        request.l_start = off_t(byte.rawValue)
        request.l_len = 1
        return request
    }
}
