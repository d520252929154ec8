import Dispatch
import Glibc
import Synchronization

/// Bounds the memory of all images in work at the same time. Each processor core works on one, so that 64 photographs
/// on 64 cores would take gigabytes.
///
/// Jobs wait in the order of their arrival. A job that needs more than the limit runs alone.
package final class WorkMemory: Sendable {
    /// The bound of the whole process: an eighth of the memory of the machine or its container.
    package static let shared = WorkMemory(
        limit: min(
            sysconf(Int32(_SC_PHYS_PAGES)) * sysconf(Int32(_SC_PAGESIZE)),
            limit(inFiles: ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"])) / 8)

    /// Returns the smallest number that the files contain. A file that is missing or contains `max` sets no limit.
    static func limit(inFiles paths: [String]) -> Int {
        paths.compactMap { path -> Int? in
            let file = open(path, O_RDONLY | O_CLOEXEC)
            guard file >= 0 else { return nil }
            defer { close(file) }
            return withUnsafeTemporaryAllocation(byteCount: 32, alignment: 1) { buffer in
                let count = max(0, read(file, buffer.baseAddress, buffer.count))
                return Int(String(decoding: buffer.prefix(count).prefix { $0 > 0x20 }, as: UTF8.self))
            }
        }.min() ?? .max
    }

    private struct Jobs {
        var held = 0
        var waiting: [(bytes: Int, turn: DispatchSemaphore)] = []
    }

    private let limit: Int
    private let jobs = Mutex(Jobs())

    /// `limit` is in bytes.
    package init(limit: Int) { self.limit = max(1, limit) }

    package var waiting: Int { jobs.withLock { $0.waiting.count } }

    /// Runs work that takes about `bytes` of memory, on the calling thread, once there is room for it.
    ///
    /// Calls must not be nested: a job that waits while it holds memory can deadlock with another.
    package func holding<Value, Failure: Error>(
        _ bytes: Int, _ work: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let turn = jobs.withLock { jobs -> DispatchSemaphore? in
            if jobs.waiting.isEmpty, fits(bytes, jobs) {
                jobs.held += bytes
                return nil
            }
            let turn = DispatchSemaphore(value: 0)
            jobs.waiting.append((bytes, turn))
            return turn
        }
        turn?.wait()
        defer { giveBack(bytes) }
        return try work()
    }

    private func giveBack(_ bytes: Int) {
        jobs.withLock { jobs in
            jobs.held -= bytes
            while let next = jobs.waiting.first, fits(next.bytes, jobs) {
                jobs.held += next.bytes
                jobs.waiting.removeFirst()
                next.turn.signal()
            }
        }
    }

    private func fits(_ bytes: Int, _ jobs: Jobs) -> Bool { jobs.held == 0 || bytes <= limit - jobs.held }
}

extension WorkMemory {
    /// Estimates the bytes that the work on an image takes: the decoded pixels, twice, for a step's input and output.
    ///
    /// A chain that begins with a resize decodes fewer pixels. The estimate is 0 for bytes that are not an image.
    package static func estimate(
        for bytes: [UInt8], _ processor: any ImageProcessor, _ options: ProcessingOptions
    ) -> Int {
        // An image whose header cannot be read fails before it takes memory.
        guard let info = try? ImageProbe.probe(bytes, limits: options.decode.limits) else { return 0 }
        var pixels = Double(info.width) * Double(info.height)
        if let size = processor.steps.first?.decodedSize(of: info, options: options) {
            // Decoders reduce a picture to 1.5 times the size; see `DecodePlan`.
            pixels = min(pixels, 2.25 * Double(size.width) * Double(size.height))
        }
        let frames = options.decode.firstFrameOnly ? 1 : Double(max(1, info.frames))
        let held = info.format.codec.decoderBytes(info)
        let most = Double(options.decode.limits.memory(fileBytes: bytes.count))
        return Int(clamping: min(2 * pixels * frames * (info.bitDepth > 8 ? 8 : 4) + held, most, 1e15))
    }
}
