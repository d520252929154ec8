import Glibc
import KFCore
import Synchronization

/// Samples of the memory and descriptors of the process, and of the size of the cache.
final class Watch: Sendable {
    private struct Sample {
        let memory: Int
        let descriptors: Int
        let disk: Int64
    }

    private let samples = Mutex<[Sample]>([])
    private let cache: ImageCache

    init(_ cache: ImageCache) { self.cache = cache }

    func look() async {
        let disk = try? await cache.summary()?.totals.bytes
        let sample = Sample(memory: Self.residentBytes, descriptors: Self.openDescriptors, disk: disk ?? 0)
        samples.withLock { $0.append(sample) }
    }

    /// Returns the maximum memory within a tenth of the time; nil without samples.
    func memory(ofTenth tenth: Int) -> Int? {
        samples.withLock { samples in
            let part = samples[(samples.count * tenth / 10)..<(samples.count * (tenth + 1) / 10)]
            return part.map(\.memory).max()
        }
    }

    var mostDescriptors: Int { samples.withLock { $0.map(\.descriptors).max() ?? 0 } }

    var mostDisk: Int64 { samples.withLock { $0.map(\.disk).max() ?? 0 } }

    /// The maximum memory in each tenth of the time, in MiB.
    var line: String { (0..<10).map { memory(ofTenth: $0).map { "\($0 >> 20)" } ?? "–" }.joined(separator: " ") }

    private static var residentBytes: Int {
        guard let file = fopen("/proc/self/statm", "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 128)
        guard fgets(&line, 128, file) != nil else { return 0 }
        let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        return (pages ?? 0) * sysconf(Int32(_SC_PAGESIZE))
    }

    private static var openDescriptors: Int {
        guard let folder = opendir("/proc/self/fd") else { return 0 }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        return count - 3
    }
}
