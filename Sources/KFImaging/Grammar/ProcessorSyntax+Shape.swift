extension ProcessorSyntax {
    static let roundCorner = ProcessorSyntax(
        name: "round-corner", parameters: ["radius", "corners", "size", "background"]
    ) { (arguments) throws(ImagingError) in
        let radius = try arguments.radius("radius")
        let corners = try arguments.corners("corners")
        let size = arguments.text("size") == nil ? nil : try arguments.size("size", "320x240")
        let background = try arguments.color("background", default: .transparent)
        return RoundCornerImageProcessor(
            radius: radius, targetSize: size, roundingCorners: corners, backgroundColor: background)
    }

    static let border = ProcessorSyntax(name: "border", parameters: ["width", "color", "radius", "corners"]) {
        (arguments) throws(ImagingError) in
        let width = try arguments.number("width", above: 0, upTo: BorderImageProcessor.maximumWidth, default: 4)
        let color = try arguments.color("color", default: .black)
        let radius = try arguments.radius("radius", default: .point(0))
        let corners = try arguments.corners("corners")
        return BorderImageProcessor(
            border: .init(color: color, lineWidth: width, radius: radius, roundingCorners: corners))
    }

    static let sharpen = ProcessorSyntax(name: "sharpen", parameters: ["sigma"]) { (arguments) throws(ImagingError) in
        SharpenImageProcessor(
            sigma: try arguments.number("sigma", above: 0, upTo: SharpenImageProcessor.maximumSigma))
    }
}
