import Dispatch
import Support
import Synchronization
import Testing

@testable import KFImaging

@Suite("The memory of images in work", .bounded)
struct WorkMemoryTests {
    /// A job on its own thread that holds memory until it is released.
    private final class Work: Sendable {
        private let gate = DispatchSemaphore(value: 0)
        private let running = Atomic(false)
        private let over = Atomic(false)

        var isRunning: Bool { running.load(ordering: .sequentiallyConsistent) }
        var isOver: Bool { over.load(ordering: .sequentiallyConsistent) }

        init(_ memory: WorkMemory, _ bytes: Int) {
            DispatchQueue(label: "work").async { [self] in
                memory.holding(bytes) {
                    running.store(true, ordering: .sequentiallyConsistent)
                    gate.wait()
                }
                over.store(true, ordering: .sequentiallyConsistent)
            }
        }

        func end() { gate.signal() }
    }

    @Test("Jobs over the limit wait in order") func limit() async {
        let memory = WorkMemory(limit: 10)
        let (a, b) = (Work(memory, 6), Work(memory, 4))
        #expect(await eventually { a.isRunning && b.isRunning })
        let c = Work(memory, 5)
        #expect(await eventually { memory.waiting == 1 })
        let d = Work(memory, 1)
        #expect(await eventually { memory.waiting == 2 })
        b.end()
        #expect(await eventually { b.isOver })
        #expect(!c.isRunning && !d.isRunning, "4 are free, and the first wants 5")
        a.end()
        #expect(await eventually { c.isRunning && d.isRunning })
        for work in [c, d] { work.end() }
        #expect(await eventually { c.isOver && d.isOver })
        #expect(memory.waiting == 0)
    }

    @Test("A job larger than the limit runs alone") func large() async {
        let memory = WorkMemory(limit: 10)
        let a = Work(memory, 1)
        #expect(await eventually { a.isRunning })
        let large = Work(memory, 100)
        #expect(await eventually { memory.waiting == 1 })
        a.end()
        #expect(await eventually { large.isRunning })
        let b = Work(memory, 1)
        #expect(await eventually { memory.waiting == 1 })
        #expect(!b.isRunning)
        large.end()
        #expect(await eventually { b.isRunning })
        b.end()
        #expect(await eventually { b.isOver })
    }

    @Test("A failed job releases its memory") func failing() throws {
        let memory = WorkMemory(limit: 10)
        #expect(throws: ImagingError.self) {
            try memory.holding(10) { () throws(ImagingError) in throw .outOfMemory(bytes: 1) }
        }
        #expect(memory.holding(10) { true })
    }

    @Test("The estimate depends on the decoded pixels") func estimates() throws {
        let bitmap = try Bitmap(width: 1000, height: 500, format: PixelFormat(.rgb))
        let bytes = try ImageEncoder.encode(Image(bitmap), as: .jpeg, options: EncodeOptions())
        let options = ProcessingOptions()
        let whole = WorkMemory.estimate(for: bytes, DefaultImageProcessor(), options)
        #expect(whole == 2 * 1000 * 500 * 4)
        let thumbnail = try ProcessorParser.parse("downsample:100x100")
        #expect(WorkMemory.estimate(for: bytes, thumbnail, options) == 2 * 100 * 50 * 4 * 9 / 4)
        #expect(WorkMemory.estimate(for: bytes, thumbnail.append(another: BlackWhiteProcessor()), options) < whole)
        if AVIFTools.areThere {
            let avif = try ImageEncoder.encode(Image(bitmap), as: .avif, options: EncodeOptions(speed: 10))
            #expect(WorkMemory.estimate(for: avif, thumbnail, options) > 2 * 1000 * 500, "dav1d holds all of it")
        }
        #expect(WorkMemory.estimate(for: [1, 2, 3], DefaultImageProcessor(), options) == 0)
    }

    @Test("A container's limit counts") func container() throws {
        let folder = try TemporaryDirectory()
        let files = try [("v2", "1048576\n"), ("none", "max\n"), ("v1", "9223372036854771712\n"), ("bad", "")].map {
            try folder.write($0.0, $0.1).path
        }
        #expect(WorkMemory.limit(inFiles: files + ["/nowhere"]) == 1_048_576)
        #expect(WorkMemory.limit(inFiles: [files[1], files[3], "/nowhere"]) == .max)
    }
}
