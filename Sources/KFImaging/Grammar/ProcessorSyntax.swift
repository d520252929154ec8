/// What the parser knows of one processor: its name, its parameters in their order, and how to make it.
struct ProcessorSyntax: Sendable {
    let name: String
    let parameters: [String]
    let make: @Sendable (ProcessorArguments) throws(ImagingError) -> any ImageProcessor

    static let all: [ProcessorSyntax] = [
        resize, downsample, crop, pad, rotate, flip, blur, sharpen, roundCorner, border, overlay, tint, color,
        blackWhite,
        grayscale, blend,
    ]

    static let resize = ProcessorSyntax(name: "resize", parameters: ["size", "mode"]) {
        (arguments) throws(ImagingError) in
        ResizingImageProcessor(
            size: try arguments.size("size", "320x240"), mode: try arguments.choice("mode", default: .none))
    }

    static let crop = ProcessorSyntax(name: "crop", parameters: ["size", "anchor"]) {
        (arguments) throws(ImagingError) in
        let size = try arguments.size("size", "320x240")
        let anchor = try CropAnchorText.parse(arguments)
        guard let width = size.width, let height = size.height else { throw arguments.fail("size needs both sides") }
        return CroppingImageProcessor(width: width, height: height, anchor: anchor)
    }

    static let blur = ProcessorSyntax(name: "blur", parameters: ["radius"]) { (arguments) throws(ImagingError) in
        BlurImageProcessor(blurRadius: try arguments.number("radius", in: 0...BlurImageProcessor.maximumRadius))
    }
}
