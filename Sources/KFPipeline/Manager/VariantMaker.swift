import Dispatch
import KFImaging
import KFStorage
import KFTerms
import Synchronization

/// A maker of several images from the same bytes. Decoding and common steps run once, and the rest runs in parallel on
/// all processors.
struct VariantMaker: Sendable {
    typealias Made = (index: Int, result: Result<ProcessedImage, KingfisherError>)

    let bytes: [UInt8]
    let format: ImageFormat
    /// The retrievals, each with a processor, and all with the same processing options.
    let retrievals: [Retrieval]

    /// The limits: the memory is shared by all images, and the time applies to each chain from the bytes to a result.
    private let allowance: Allowance

    /// Called for each image that is made or has failed.
    private let note: @Sendable () -> Void

    private init(
        _ bytes: [UInt8], _ format: ImageFormat, _ retrievals: [Retrieval], _ note: @escaping @Sendable () -> Void
    ) {
        self.note = note
        self.bytes = bytes
        self.format = format
        self.retrievals = retrievals
        allowance = Allowance(retrievals[0].options.decodeLimits, fileBytes: bytes.count)
    }

    /// Returns the result of each retrieval, in their order. `note` is called at the end of each, on any thread. Blocks.
    static func make(
        _ retrievals: [Retrieval], of bytes: [UInt8], _ format: ImageFormat, noting note: @escaping @Sendable () -> Void
    ) -> [Result<ProcessedImage, KingfisherError>] {
        guard let processing = retrievals.first?.options.processing else { return [] }
        let sizes = retrievals.map { WorkMemory.estimate(for: bytes, $0.options.processor, processing) }
        let size = min(sizes.reduce(0, +), processing.decode.limits.memory(fileBytes: bytes.count))
        // The time limit starts when the memory is available.
        return WorkMemory.shared.holding(size) { VariantMaker(bytes, format, retrievals, note).make() }
    }

    private var processing: ProcessingOptions { retrievals[0].options.processing }

    private func make() -> [Result<ProcessedImage, KingfisherError>] {
        let tree = VariantTree(retrievals.map(\.options.processor))
        var (sized, alone, others): ([VariantTree.Node], [VariantTree.Node], [VariantTree.Node]) = ([], [], [])
        for root in tree.roots {
            switch root.processor.firstInput {
            case .image: others.append(root)
            case .sized: sized.append(root)
            case .bytes: alone.append(root)
            }
        }
        var works: [@Sendable () -> [Made]] = []
        do throws(ImagingError) {
            works = try passes(over: sized).map { pass in { @Sendable in decode(pass) } }
        } catch {
            works = [{ [sized] in sized.flatMap { failures(of: $0, error) } }]
        }
        works += alone.map { root in { @Sendable in run(root, .data(bytes), .zero) } }
        if !others.isEmpty { works.append { [others] in decodeWhole(for: others) } }
        let made = inParallel(works)
        return retrievals.indices.map { index in
            made.first { $0.index == index }?.result
                ?? .failure(.processorError(reason: .processingFailed(identifier: "", detail: "no result was made")))
        }
    }

    private struct Pass: Sendable {
        var roots: [VariantTree.Node] = []
        var sizes: [PixelSize] = []
    }

    private func passes(over roots: [VariantTree.Node]) throws(ImagingError) -> [Pass] {
        guard !roots.isEmpty else { return [] }
        return try bytes.withUnsafeBytes { bytes in
            Result { () throws(ImagingError) in
                let info = try ImageProbe.probe(bytes, limits: processing.decode.limits)
                let sizes = roots.compactMap { $0.processor.decodedSize(of: info, options: processing) }
                let groups = try ImageDecoder.passes(over: bytes, options: processing.decode, sizes: sizes)
                return groups.map { group in Pass(roots: group.map { roots[$0] }, sizes: group.map { sizes[$0] }) }
            }
        }.get()
    }

    private func decode(_ pass: Pass) -> [Made] {
        do {
            let (images, spent) = try work(after: .zero) { () throws(ImagingError) in
                try bytes.withUnsafeBytes { bytes in
                    Result { () throws(ImagingError) in
                        try ImageDecoder.decode(bytes, options: processing.decode, sizes: pass.sizes)
                    }
                }.get()
            }
            return inParallel(zip(pass.roots, images).map { root, image in { @Sendable in fork(root, image, spent) } })
        } catch {
            return pass.roots.flatMap { failures(of: $0, error) }
        }
    }

    private func decodeWhole(for roots: [VariantTree.Node]) -> [Made] {
        // A single root may have a faster way to decode.
        if roots.count == 1 { return run(roots[0], .data(bytes), .zero) }
        do {
            let (image, spent) = try work(after: .zero) { () throws(ImagingError) in
                try ImageDecoder.decode(bytes, options: processing.decode)
            }
            return inParallel(roots.map { root in { @Sendable in run(root, .image(image), spent) } })
        } catch {
            return roots.flatMap { failures(of: $0, error) }
        }
    }

    /// Runs the step of a node. `spent` is the time that the previous steps took.
    private func run(_ node: VariantTree.Node, _ item: ImageProcessItem, _ spent: Duration) -> [Made] {
        do {
            let (image, spent) = try work(after: spent) { () throws(ImagingError) in
                try node.processor.process(item, options: processing)
            }
            return fork(node, image, spent)
        } catch {
            return failures(of: node, error)
        }
    }

    /// Encodes the results of the chains that end at a node, and runs its next steps.
    private func fork(_ node: VariantTree.Node, _ image: Image, _ spent: Duration) -> [Made] {
        inParallel(
            node.leaves.map { leaf in { @Sendable in [encode(image, leaf, spent)] } }
                + node.children.map { child in { @Sendable in run(child, .image(image), spent) } })
    }

    private func encode(_ image: Image, _ index: Int, _ spent: Duration) -> Made {
        let retrieval = retrievals[index]
        defer { note() }
        do {
            let (made, _) = try work(after: spent) { () throws(ImagingError) in
                try ProcessedImage(image, of: bytes, format, retrieval.options)
            }
            return (index, .success(made))
        } catch {
            return (index, .failure(KingfisherError(processing: error, identifier: retrieval.target.identifier)))
        }
    }

    private func failures(of node: VariantTree.Node, _ error: ImagingError) -> [Made] {
        node.leaves.map { index in
            (index, .failure(KingfisherError(processing: error, identifier: retrievals[index].target.identifier)))
        } + node.children.flatMap { failures(of: $0, error) }
    }

    /// Runs work within the remaining time, and returns the time spent so far with its value.
    private func work<Value>(
        after spent: Duration, _ body: () throws(ImagingError) -> Value
    ) throws(ImagingError) -> (value: Value, spent: Duration) {
        let part = allowance.after(spent)
        return (try part.run(body), part.spent)
    }

    /// Runs the works in parallel, on the processors that are free.
    private func inParallel(_ works: [@Sendable () -> [Made]]) -> [Made] {
        guard works.count > 1 else { return works.first?() ?? [] }
        let made = Mutex<[Made]>([])
        DispatchQueue.concurrentPerform(iterations: works.count) { index in
            let some = works[index]()
            made.withLock { $0 += some }
        }
        return made.withLock { $0 }
    }
}
