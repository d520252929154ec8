import KFImaging
import KFStorage

/// Makes several images of the same bytes: decodes and shared steps once, the rest side by side on all processors.
struct VariantMaker: Sendable {
    typealias Made = (index: Int, result: Result<ProcessedImage, KingfisherError>)

    let bytes: [UInt8]
    let format: ImageFormat
    /// All with a processor, and with the same processing options.
    let retrievals: [Retrieval]

    /// The memory is for all of them together; the time is for each chain of work from the bytes to a result.
    private let allowance: Allowance

    init(bytes: [UInt8], format: ImageFormat, retrievals: [Retrieval]) {
        self.bytes = bytes
        self.format = format
        self.retrievals = retrievals
        allowance = Allowance(retrievals[0].options.decodeLimits, fileBytes: bytes.count)
    }

    private var processing: ProcessingOptions { retrievals[0].options.processing }

    /// What came of each retrieval, in no order.
    func make() async -> [Made] {
        let tree = VariantTree(retrievals.map(\.options.processor))
        let sized = tree.roots.filter { $0.processor is any SizedDecoding }
        let others = tree.roots.filter { !($0.processor is any SizedDecoding) }
        return await withTaskGroup(of: [Made].self) { group in
            do throws(ImagingError) {
                for pass in try passes(over: sized) { group.addTask { await decode(pass) } }
            } catch {
                return sized.flatMap { failures(of: $0, error) }
            }
            if !others.isEmpty { group.addTask { await decodeWhole(for: others) } }
            return await group.reduce(into: []) { $0 += $1 }
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
                let sizes = roots.compactMap { root in
                    (root.processor as? any SizedDecoding)?.decodedSize(of: info, options: processing)
                }
                let groups = try ImageDecoder.passes(over: bytes, options: processing.decode, sizes: sizes)
                return groups.map { group in Pass(roots: group.map { roots[$0] }, sizes: group.map { sizes[$0] }) }
            }
        }.get()
    }

    private func decode(_ pass: Pass) async -> [Made] {
        do {
            let (images, spent) = try await work(after: .zero) { () throws(ImagingError) in
                try bytes.withUnsafeBytes { bytes in
                    Result { () throws(ImagingError) in
                        try ImageDecoder.decode(bytes, options: processing.decode, sizes: pass.sizes)
                    }
                }.get()
            }
            return await sideBySide(Array(zip(pass.roots, images))) { root, image in await goOn(root, image, spent) }
        } catch {
            return pass.roots.flatMap { failures(of: $0, error) }
        }
    }

    private func decodeWhole(for roots: [VariantTree.Node]) async -> [Made] {
        // One alone may have its own way to decode.
        if roots.count == 1 { return await run(roots[0], .data(bytes), .zero) }
        do {
            let (image, spent) = try await work(after: .zero) { () throws(ImagingError) in
                try ImageDecoder.decode(bytes, options: processing.decode)
            }
            return await sideBySide(roots.map { ($0, image) }) { root, image in
                await run(root, .image(image), spent)
            }
        } catch {
            return roots.flatMap { failures(of: $0, error) }
        }
    }

    /// `spent` is the time that the work so far has taken.
    private func run(_ node: VariantTree.Node, _ item: ImageProcessItem, _ spent: Duration) async -> [Made] {
        do {
            let (image, spent) = try await work(after: spent) { () throws(ImagingError) in
                try node.processor.process(item, options: processing)
            }
            return await goOn(node, image, spent)
        } catch {
            return failures(of: node, error)
        }
    }

    /// The node's step is done: encodes for the chains that end here, and takes the next steps.
    private func goOn(_ node: VariantTree.Node, _ image: Image, _ spent: Duration) async -> [Made] {
        async let encoded = sideBySide(node.leaves.map { ($0, image) }) { leaf, image in
            [await encode(image, leaf, spent)]
        }
        let deeper = await sideBySide(node.children.map { ($0, image) }) { child, image in
            await run(child, .image(image), spent)
        }
        return await encoded + deeper
    }

    private func encode(_ image: Image, _ index: Int, _ spent: Duration) async -> Made {
        let retrieval = retrievals[index]
        do {
            let (made, _) = try await work(after: spent) { () throws(ImagingError) in
                let (bytes, format) = try retrieval.options.cacheSerializer.data(for: image, original: format)
                return ProcessedImage(image: image, bytes: bytes, format: format)
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

    /// Runs a piece of work in the time that is left, and adds what it took to what was spent. Waiting for a processor
    /// does not count.
    private func work<Value: Sendable>(
        after spent: Duration, _ body: @escaping @Sendable () throws(ImagingError) -> Value
    ) async throws(ImagingError) -> (value: Value, spent: Duration) {
        try await WorkerPool.processing.run { () throws(ImagingError) in
            let start = ContinuousClock.now
            let value = try allowance.after(spent).run(body)
            return (value, spent + start.duration(to: .now))
        }
    }

    private func sideBySide<Item: Sendable>(
        _ items: [(Item, Image)], _ work: @escaping @Sendable (Item, Image) async -> [Made]
    ) async -> [Made] {
        await withTaskGroup(of: [Made].self) { group in
            for (item, image) in items { group.addTask { await work(item, image) } }
            return await group.reduce(into: []) { $0 += $1 }
        }
    }
}
